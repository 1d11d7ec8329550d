/** `/internal/livekit-events`: LiveKit's webhooks. An event names a room to look at, and nothing else of it is believed. */
import { Problem } from "@realtime-avatar/domain/problem";
import { readEvent } from "@realtime-avatar/livekit/webhook";
import { Elysia } from "elysia";
import { realtimeOf } from "../../calls/realtime.ts";
import type { Dependencies } from "../../dependencies.ts";
import { type BodyKind, readText } from "../../http/body.ts";
import { withRequestContext } from "../../http/request-context.ts";
import type { RouteDetail } from "../../openapi/operation.ts";

const DETAIL: RouteDetail = { isHidden: true };

const EVENT_BODY: BodyKind = { mediaType: "application/webhook+json", maxBytes: 64 * 1024 };

const unsigned = (): Problem => new Problem("invalid_credentials", "The event has no valid signature of LiveKit.");

export const livekitEventRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "livekit-events", prefix: "/internal/livekit-events" }).use(withRequestContext).post(
    "",
    async ({ request, requestContext }) => {
      const { config, roomChecks } = realtimeOf(dependencies);
      const authorization = request.headers.get("authorization");
      if (authorization === null) throw unsigned();
      requestContext.isRoutine = true;
      const event = await readEvent(config, await readText(request, requestContext, EVENT_BODY), authorization);
      if (event === null) throw unsigned();
      if (event.roomName !== null) roomChecks.add(event.roomName);
      return "";
    },
    { detail: DETAIL },
  );
