/** `/api/v1/avatars` */
import { insertAvatar } from "@realtime-avatar/db/avatars";
import { Avatar, CreateAvatar, newAvatar, presentAvatar } from "@realtime-avatar/domain/avatar";
import { newId } from "@realtime-avatar/domain/id";
import { Elysia } from "elysia";
import type { Dependencies } from "./app.ts";
import { authentication } from "./auth.ts";
import { readBody } from "./body.ts";

export const avatarRoutes = (dependencies: Dependencies) => {
  const { db, clock, random, config } = dependencies;
  return new Elysia({ name: "avatars", prefix: "/api/v1/avatars" }).use(authentication(dependencies)).post(
    "",
    async ({ act, request, set, status, trace }) => {
      const body = await readBody(request, CreateAvatar);
      const avatar = await act(async (caller) => {
        const now = clock();
        const made = newAvatar(body, {
          id: newId("ava", now, random),
          tenantId: caller.tenantId,
          environment: caller.environment,
          defaultModelId: config.defaultAvatarModelId,
          now,
        });
        const origin = { actor: caller, requestId: trace.requestId, now, random };
        return (await insertAvatar(db, made, caller, origin)) && made;
      });
      set.headers.location = `/api/v1/avatars/${avatar.id}`;
      set.headers.etag = `"${avatar.version}"`;
      return status(201, presentAvatar(avatar));
    },
    { scope: "avatars:write", response: { 201: Avatar } },
  );
};
