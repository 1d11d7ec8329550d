/** `/api/v1/recordings`: the recordings of calls, with the paths and names that the published SDK uses. */
import { deleteRecording, findRecording, listRecordings } from "@realtime-avatar/db/recordings/recordings";
import { isId, type RecordingId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { newRecordingToken, RECORDING_FILES_PATH } from "@realtime-avatar/domain/recordings/access";
import {
  DeletedRecording,
  RECORDING_LIST,
  Recording,
  RecordingAccess,
  RecordingPage,
} from "@realtime-avatar/domain/recordings/schemas";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendJson } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled } from "../http/write.ts";

const OPERATIONS = operations({
  listRecordings: {
    summary: "List recordings",
    description: "Returns the recordings of calls, newest first.",
    query: RECORDING_LIST.query,
    success: { status: 200, description: "A page of recordings.", schema: RecordingPage },
  },
  getRecording: {
    summary: "Get a recording",
    description:
      "Returns the recording of a call. Its file is made after the end of the call: then it is `ready`, and the event `recording.ready` is sent.",
    isUnversioned: true,
    success: { status: 200, description: "The recording.", schema: Recording },
  },
  getRecordingAccess: {
    summary: "Get the file of a recording",
    description:
      "Returns a URL that serves the file for an hour, whole or in parts (`Range`). Everyone with the URL can read the file. Ask again when it has expired.",
    isUnversioned: true,
    success: { status: 200, description: "The URL of the file.", schema: RecordingAccess },
    problems: ["recording_not_ready"],
  },
  deleteRecording: {
    summary: "Delete a recording",
    description:
      "Deletes the recording. Its file is not served any more, and is deleted within a minute. With its last recording, an open call is recorded no more.",
    isUnversioned: true,
    success: { status: 200, description: "The recording was deleted.", schema: DeletedRecording },
  },
});

const RECORDING = { schema: Recording, toText: JSON.stringify };
const ACCESS = { schema: RecordingAccess, toText: JSON.stringify };

const recordingId = (id: string): RecordingId => {
  if (!isId("rec", id)) throw notFound();
  return id;
};

const DELETE_RECORDING = {
  body: null,
  representation: { schema: DeletedRecording, toText: JSON.stringify },
  plan: ({ db, id, caller, origin }: Attempt<unknown>) => {
    const target = recordingId(id);
    return { response: null, write: () => deleteRecording(db, target, caller, origin) };
  },
  settle: ({ kind }: OutcomeOf<typeof deleteRecording>, { id }: Attempt<unknown>): Settled<DeletedRecording> => {
    switch (kind) {
      case "not_found":
        throw notFound();
      case "stale":
        return { kind };
      case "written":
        return { kind, resource: { version: null, body: { recordingId: id, status: "deleted" } } };
    }
  },
};

export const recordingRoutes = (dependencies: Dependencies) => {
  const { clock, assetOrigin, sessionSecret } = dependencies;
  return new Elysia({ name: "recordings", prefix: "/api/v1/recordings" })
    .use(authentication(dependencies))
    .get(
      "",
      listHandler(dependencies, RECORDING_LIST, ({ caller, db }, page) => listRecordings(db, caller, page)),
      { scope: "usage:read", detail: OPERATIONS.listRecordings },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const found = await findRecording(db, caller, recordingId(id));
        if (found === null) throw notFound();
        return sendJson(RECORDING, found.recording, set);
      },
      { scope: "usage:read", detail: OPERATIONS.getRecording },
    )
    .get(
      "/:id/access",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const target = recordingId(id);
        const found = await findRecording(db, caller, target);
        if (found === null) throw notFound();
        if (found.key === null) {
          throw new Problem("recording_not_ready", `The recording is \`${found.recording.status}\`: it has no file.`);
        }
        const { tenantId, environment } = caller;
        const { token, expiresAt } = newRecordingToken({ tenantId, environment, id: target }, sessionSecret, clock());
        const url = `${assetOrigin()}${RECORDING_FILES_PATH}/${token}`;
        return sendJson(ACCESS, { recordingId: target, url, expiresAt: expiresAt.toISOString() }, set);
      },
      { scope: "usage:read", detail: OPERATIONS.getRecordingAccess },
    )
    .delete("/:id", ({ write }) => execute(write, DELETE_RECORDING), {
      scope: "usage:write",
      detail: OPERATIONS.deleteRecording,
    });
};
