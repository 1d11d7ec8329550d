/** Uploads a file in a form, with its progress. */
import { type Asset, createClient } from "@realtime-avatar/client";
import type { Environment } from "./client.ts";

/** On a slow connection, the largest video takes half an hour. */
const UPLOAD_MS = 3_600_000;

const headersOf = (request: XMLHttpRequest): Headers =>
  new Headers(
    request
      .getAllResponseHeaders()
      .split("\r\n")
      .filter((line) => line !== "")
      .map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
  );

/** A `fetch` for forms. Browsers report the progress of a sent body only to XMLHttpRequest. */
const sendForm = (
  { method, url, headers, signal }: Request,
  form: FormData,
  onProgress: (share: number) => void,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    // The browser encodes the form again, with another boundary.
    for (const [name, value] of headers) if (name !== "content-type") request.setRequestHeader(name, value);
    request.responseType = "arraybuffer";
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onload = () =>
      resolve(new Response(request.response, { status: request.status, headers: headersOf(request) }));
    request.onerror = () => reject(new TypeError("The upload broke off."));
    request.onabort = () => reject(signal.reason);
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });

/**
 * Uploads a file as an asset of this kind. `onProgress`: called with the sent share, from 0 to 1. A failed attempt
 * starts again. Throws the reason of `signal` when it is aborted, and otherwise the client's error.
 */
export const uploadAsset = async (
  environment: Environment,
  file: File,
  { kind, signal, onProgress }: { kind: Asset["kind"]; signal: AbortSignal; onProgress: (share: number) => void },
): Promise<Asset> => {
  const body = new FormData();
  // Sent before the file, so that the service can refuse a wrong kind early.
  body.set("kind", kind);
  body.set("file", file, file.name);
  const client = createClient({
    baseUrl: location.origin,
    cookieEnvironment: environment,
    maxAttempts: 3,
    timeoutMs: UPLOAD_MS,
    attemptTimeoutMs: UPLOAD_MS,
    fetch: (request) => sendForm(request, body, onProgress),
  });
  return (await client.POST("/api/v1/assets", { body, signal })).data;
};
