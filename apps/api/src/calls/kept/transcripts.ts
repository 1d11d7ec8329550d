/** `/api/v1/usage/sessions/{id}/transcript`: the kept transcripts of a tenant. */
import { deleteKeptTranscript, findKeptTranscript } from "@realtime-avatar/db/calls/transcripts";
import {
  deletedTranscript,
  presentTranscript,
  Transcript,
  transcriptNotKept,
} from "@realtime-avatar/domain/calls/kept-transcript";
import { transcriptSeals } from "@realtime-avatar/domain/calls/transcript";
import { isId, type SessionId } from "@realtime-avatar/domain/id";
import { notFound } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../../dependencies.ts";
import { authentication } from "../../http/authenticate.ts";
import { operations } from "../../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../../http/query.ts";
import { responseText } from "../../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled } from "../../http/write.ts";

const OPERATIONS = operations({
  getTranscript: {
    summary: "Read the transcript of a call",
    description:
      "Returns the words of both sides, if the tenant kept transcripts when the call began (`PATCH /settings`). While the call is open, returns the words so far.",
    isUnversioned: true,
    success: { status: 200, description: "The transcript.", schema: Transcript },
    problems: ["transcript_not_kept"],
  },
  deleteTranscript: {
    summary: "Delete the transcript of a call",
    description:
      "Deletes the kept transcript, also of an open call, whose later words are not kept either. The delivery to a `transcript_webhook` continues.",
    isUnversioned: true,
    success: { status: 200, description: "The transcript, without its segments.", schema: Transcript },
    problems: ["transcript_not_kept"],
  },
});

const TRANSCRIPT = { schema: Transcript, toText: JSON.stringify };

const sessionIdOf = (id: string): SessionId => {
  if (!isId("ses", id)) throw notFound();
  return id;
};

const DELETE_TRANSCRIPT = {
  body: null,
  representation: TRANSCRIPT,
  plan: ({ db, id, caller, origin }: Attempt<unknown>) => {
    const sessionId = sessionIdOf(id);
    return { response: null, write: () => deleteKeptTranscript(db, sessionId, caller, origin) };
  },
  settle: ({ kind }: OutcomeOf<typeof deleteKeptTranscript>, { id }: Attempt<unknown>): Settled<Transcript> => {
    switch (kind) {
      case "not_found":
        throw notFound();
      case "not_kept":
        throw transcriptNotKept();
      case "stale":
        return { kind };
      case "written":
        return { kind, resource: { version: null, body: deletedTranscript(sessionIdOf(id)) } };
    }
  },
};

export const transcriptRoutes = (dependencies: Dependencies) => {
  const { clock, config, responseBytes, webhooks } = dependencies;
  return new Elysia({ name: "transcripts", prefix: "/api/v1/usage/sessions" })
    .use(authentication(dependencies))
    .get(
      "/:id/transcript",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const sessionId = sessionIdOf(id);
        const found = await findKeptTranscript(db, caller, sessionId);
        if (!found) throw notFound();
        const { openSegment } = transcriptSeals(webhooks.sealingKey, sessionId);
        const transcript = presentTranscript(
          sessionId,
          { ...found, segments: found.segments.map(openSegment) },
          { now: clock(), retentionDays: config.callRetentionDays },
        );
        return responseBytes.send([responseText(TRANSCRIPT, transcript)], caller.tenantId, request, set);
      },
      { scope: "usage:read", detail: OPERATIONS.getTranscript },
    )
    .delete("/:id/transcript", ({ write }) => execute(write, DELETE_TRANSCRIPT), {
      scope: "usage:write",
      detail: OPERATIONS.deleteTranscript,
    });
};
