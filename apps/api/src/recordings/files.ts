/** `/public/recordings/{token}`: the files of recordings, by URLs of `GET /api/v1/recordings/{id}/access`. */
import { findRecording } from "@realtime-avatar/db/recordings/recordings";
import { notFound } from "@realtime-avatar/domain/problem";
import { RECORDING_FILES_PATH, readRecordingToken } from "@realtime-avatar/domain/recordings/access";
import { Elysia } from "elysia";
import { sendFile } from "../assets/public-files.ts";
import type { Dependencies } from "../dependencies.ts";
import { withRequestContext } from "../http/request-context.ts";
import type { ResponseHead } from "../http/response.ts";

export const recordingFileRoutes = (dependencies: Dependencies) => {
  const { clock, databases, sessionSecret } = dependencies;
  return new Elysia({ name: "recording-files", prefix: RECORDING_FILES_PATH })
    .use(withRequestContext)
    .get("/:token", async ({ params: { token }, request, set, requestContext }) => {
      const owned = readRecordingToken(token, sessionSecret, clock());
      if (owned === null) throw notFound();
      const db = databases.ofTenant(owned.tenantId).until(requestContext);
      const found = await findRecording(db, owned, owned.id);
      if (found === null || found.key === null) throw notFound();
      const { key, recording } = found;
      const file = { key, contentType: recording.mediaType ?? "video/mp4", tag: `"${owned.id}"` };
      const headers = {
        "cache-control": "private, no-store",
        "content-disposition": `attachment; filename="${owned.id}.mp4"`,
      };
      return sendFile(dependencies, { ...file, headers }, { request, set: set as ResponseHead });
    });
};
