/**
 * The signed URLs of uploads, for a store on disk. They need no key: the signature proves that the service has issued
 * the URL, and binds the size, the type and the MD5 of the file.
 */

import { existingAssets } from "@realtime-avatar/db/assets/assets";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import type { AssetId, TenantId } from "@realtime-avatar/domain/id";
import { notFound, Problem, validationFailed } from "@realtime-avatar/domain/problem";
import { UPLOAD_PATH } from "@realtime-avatar/storage/disk/signed-url";
import type { VerifiedPut } from "@realtime-avatar/storage/storage";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { clientNetwork } from "../http/limits/client-address.ts";
import type { RouteDetail } from "../http/operation.ts";
import { type RequestContext, withRequestContext } from "../http/request-context.ts";
import { openBody, readableStream } from "./body-reader.ts";
import { corsHeaders, preflightHeaders } from "./upload-cors.ts";

/** The operation is hidden: its address comes from another operation, and depends on the store. */
const DETAIL: RouteDetail = { isHidden: true };

type Refusal = Exclude<Extract<VerifiedPut, { kind: "refused" }>["reason"], "signature" | "expired">;
const HEADERS: Record<Refusal, string> = { content_type: "Content-Type", size: "Content-Length", md5: "Content-MD5" };
const wrongHeader = (reason: Refusal): Problem =>
  validationFailed([
    { header: HEADERS[reason], code: "not_as_signed", detail: "Must be the value for which the URL was signed." },
  ]);

const refusalOf = (reason: Extract<VerifiedPut, { kind: "refused" }>["reason"]): Problem => {
  if (reason === "signature") return notFound();
  if (reason === "expired") return new Problem("not_found", "The URL has expired. Create another upload.");
  return wrongHeader(reason);
};

/**
 * Whether the asset still waits for the file with this key. The quota counts only such files. Without this check, the
 * quota would have room again after a deletion, and the old URL would still accept a file.
 */
const isExpected = async (databases: Databases, key: string, context: RequestContext): Promise<boolean> => {
  const [, tenantId, id] = key.split("/");
  const named = { tenantId: tenantId as TenantId, id: id as AssetId };
  const [asset] = await existingAssets(databases.ofTenant(named.tenantId).until(context), [named]);
  return asset?.status === "pending_upload";
};

export const signedUploadRoutes = ({ databases, storage, uploadSlots, clock, peerAddress, config }: Dependencies) =>
  new Elysia({ name: "signed-uploads", prefix: UPLOAD_PATH.replace(/\/$/, "") })
    .use(withRequestContext)
    .options(
      "/:token",
      ({ request, set }) => {
        if (storage.served === null) throw notFound();
        Object.assign(set.headers, preflightHeaders(config.uploadOrigins, request.headers.get("origin")));
        set.status = 204;
      },
      { detail: DETAIL },
    )
    .put(
      "/:token",
      async ({ params: { token }, request, set, requestContext }) => {
        const { served } = storage;
        if (served === null) throw notFound();
        // Errors get these headers as well: otherwise a page cannot read the status.
        Object.assign(set.headers, corsHeaders(config.uploadOrigins, request.headers.get("origin")));
        const verified = served.verifyPut(token, request.headers, clock());
        if (verified.kind === "refused") throw refusalOf(verified.reason);
        const { upload } = verified;
        const [, tenantId = null] = upload.key.split("/");
        const isStillExpected = () => isExpected(databases, upload.key, requestContext);
        const client = clientNetwork(request, peerAddress(request), config.trustedProxyHops);
        return uploadSlots.run({ tenantId, client }, async (place) => {
          if (!(await isStillExpected())) throw notFound();
          const tooLarge = () => wrongHeader("size");
          const body = openBody(request, requestContext, { maxBytes: upload.sizeBytes, tooLarge, place });
          try {
            const received = await served.receive(upload, readableStream(body));
            if (received.kind === "refused") throw wrongHeader(received.reason);
          } finally {
            body.close();
          }
          // The asset can have been deleted while the file arrived.
          if (await isStillExpected()) return "";
          await storage.delete(upload.key);
          throw notFound();
        });
      },
      { detail: DETAIL },
    );
