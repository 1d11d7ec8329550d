/**
 * `/internal/livekit-events`: LiveKit's webhooks. An event names a room to check. Its other contents are not trusted.
 */
import { Problem } from "@realtime-avatar/domain/problem";
import { readEvent } from "@realtime-avatar/livekit/webhook";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { type BodyKind, readText } from "../http/body.ts";
import type { RouteDetail } from "../http/operation.ts";
import { withRequestContext } from "../http/request-context.ts";
import { requireRealtime } from "./realtime.ts";

const DETAIL: RouteDetail = { isHidden: true };

const EVENT_BODY: BodyKind = { mediaType: "application/webhook+json", maxBytes: 64 * 1024 };

export const livekitEventRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "livekit-events", prefix: "/internal/livekit-events" }).use(withRequestContext).post(
    "",
    async ({ request, requestContext }) => {
      const { config, roomChecks } = requireRealtime(dependencies);
      const event = await readEvent(config, request.headers.get("authorization"), () =>
        readText(request, requestContext, EVENT_BODY),
      );
      if (event === null) throw new Problem("invalid_credentials", "The event has no valid signature of LiveKit.");
      requestContext.isRoutine = true;
      if (event.roomName !== null) roomChecks.add(event.roomName);
      return "";
    },
    { detail: DETAIL },
  );
