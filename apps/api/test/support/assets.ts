/** Calls of the asset routes, for end-to-end tests. */
import type { Asset } from "@realtime-avatar/domain/assets/schemas";
import type { AssetStatus } from "@realtime-avatar/domain/assets/status";
import { type Answer, readAnswer, requestInit, type TestApi } from "./api.ts";
import { encodeForm, fieldPart, filePart, formType, PNG } from "./forms.ts";

export const PATH = "/api/v1/assets";

/** `key`: the default API key of the calls. */
export const assetCalls = (api: TestApi, key: string) => {
  /** Uploads a form. */
  const upload = async (
    file: string | Uint8Array = PNG,
    { kind, filename = "ada.png", headers = {}, boundary, by = key }: UploadOptions = {},
  ): Promise<Answer> => {
    const fields = kind === undefined ? [] : [fieldPart("kind", kind)];
    const form = encodeForm([filePart(file, filename), ...fields], boundary === undefined ? {} : { boundary });
    const init = requestInit("POST", {
      key: by,
      body: form,
      headers: { "content-type": formType(boundary), ...headers },
    });
    return readAnswer(await fetch(api.url + PATH, init));
  };
  const call = (method: string, path: string, body?: unknown, headers = {}, by = key) =>
    api.call(method, PATH + path, { key: by, headers, ...(body === undefined ? {} : { body }) });
  return {
    upload,
    call,
    /** Uploads a new asset: a picture by default. */
    make: async (options: UploadOptions = {}, file: Uint8Array = PNG): Promise<Asset> => {
      const answer = await upload(file, options);
      if (answer.status !== 201) throw new Error(`an asset was not created: ${answer.status} ${answer.text}`);
      return answer.body;
    },
    /** Sets the status in the database, like the worker. */
    put: (id: string, status: AssetStatus) =>
      api.database.db.client`update assets set status = ${status} where id = ${id}`,
    /** The keys of the files in the store. */
    stored: async (prefix = ""): Promise<string[]> =>
      (await Array.fromAsync(api.files.storage.list(prefix))).map((file) => file.key).sort(),
    trail: (id: string) => api.database.db.client`
      select action, actor_key_id, changed_fields, environment, request_id from audit_events
      where target_id = ${id} order by id`,
  };
};

type UploadOptions = {
  kind?: string;
  filename?: string;
  headers?: Record<string, string>;
  boundary?: string;
  by?: string;
};
