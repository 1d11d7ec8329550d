/**
 * The fragments of recordings from avatar workers. A fragment is stored before its row, which decides whether the
 * fragment is kept.
 */

import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  type FragmentRefusal,
  findFragmentOwner,
  type SentFragment,
  writeFragment,
} from "@realtime-avatar/db/recordings/fragments";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { fragmentKey } from "@realtime-avatar/domain/recordings/files";
import { MAX_FRAGMENT_BYTES, readFragment } from "@realtime-avatar/domain/recordings/fragment";
import type { Storage } from "@realtime-avatar/storage/storage";
import { type BodyKind, readBytes } from "../http/body.ts";
import { createPlaces } from "../http/limits/places.ts";
import { runWrite } from "../http/problem.ts";
import type { RequestContext } from "../http/request-context.ts";

/** Fragments that a process receives at once. A worker can send half of them, and fewer while half are taken. */
const MAX_AT_ONCE = 64;
const RETRY = { retryable: true, retryAfterSeconds: 1 };

const FRAGMENT_BODY: BodyKind = { mediaType: "application/octet-stream", maxBytes: MAX_FRAGMENT_BYTES };

/** Throws the problem of a refused fragment. A fragment that was stored before is no error: its response was lost. */
const refuse = (kind: Exclude<FragmentRefusal, "stored">): never => {
  if (kind !== "full") throw notFound();
  throw new Problem("body_too_large", "The recordings of the call have as many bytes or fragments as they may have.");
};

const streamOf = (bytes: Uint8Array): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue(bytes);
      controller.close();
    },
  });

type FragmentRequest = { db: Db; request: Request; context: RequestContext; fragment: Omit<SentFragment, "sizeBytes"> };

/** Receives and stores a fragment. Its bytes are read only if its worker may send it. */
const receive = async (storage: Storage, { db, request, context, fragment: place }: FragmentRequest): Promise<void> => {
  const declaredBytes = Math.min(MAX_FRAGMENT_BYTES, Number(request.headers.get("content-length")) || 0);
  const found = await findFragmentOwner(db, { ...place, sizeBytes: declaredBytes });
  if (found.kind === "stored") return;
  if (found.kind !== "open") return refuse(found.kind);
  const bytes = await readBytes(request, context, FRAGMENT_BODY);
  if (readFragment(bytes) === null)
    throw new Problem("malformed_request", "The body is not a fragment of a recording.");
  const fragment = { ...place, sizeBytes: bytes.length };
  const key = fragmentKey({ tenantId: found.tenantId, sessionId: fragment.sessionId }, fragment);
  await storage.put(key, { stream: streamOf(bytes), sizeBytes: bytes.length }, FRAGMENT_BODY.mediaType);
  const outcome = await runWrite(() => writeFragment(db, fragment));
  if (outcome === "written" || outcome === "stored") return;
  // If the deletion fails, the sweep of the worker removes the file.
  await storage.delete(key).catch(() => {});
  refuse(outcome);
};

/**
 * Returns a function that receives a fragment. A repeated fragment counts as the same request. The memory holds at most
 * `MAX_AT_ONCE` fragments: another one gets 503. Its worker sends it again.
 */
export const createFragmentReceiver = (storage: Storage): ((request: FragmentRequest) => Promise<void>) => {
  const places = createPlaces(MAX_AT_ONCE);
  return async (request) => {
    const taken = places.take([{ name: request.fragment.workerId, share: MAX_AT_ONCE / 2 }]);
    if (taken.kind !== "taken") throw new Problem("unavailable", "Too many fragments are being received.", RETRY);
    try {
      await receive(storage, request);
    } finally {
      taken.place.free();
    }
  };
};
