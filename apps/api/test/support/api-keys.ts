/** Calls of the API key routes, for end-to-end tests. */
import type { ApiKey, ApiKeyWithSecret, CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import type { Answer, TestApi } from "./api.ts";

export const PATH = "/api/v1/api-keys";

export const outcome = ({ status, body }: Answer) => [status, body.code];
export const withoutSecret = ({ apiKey: _, ...key }: ApiKeyWithSecret): ApiKey => key;

export const apiKeyCalls = (api: TestApi) => ({
  make: async (key: string, request: Partial<CreateApiKey> = {}): Promise<ApiKeyWithSecret> => {
    const { status, body } = await api.call("POST", PATH, { key, body: { name: "x", scopes: ["*"], ...request } });
    if (status !== 201) throw new Error(`a key was not created: ${status}`);
    return body;
  },
  get: (key: string, id: string) => api.call("GET", `${PATH}/${id}`, { key }),
  patch: (key: string, id: string, body: unknown, headers = {}) =>
    api.call("PATCH", `${PATH}/${id}`, { key, body, headers }),
  revoke: (key: string, id: string, headers = {}) => api.call("DELETE", `${PATH}/${id}`, { key, headers }),
  rotate: (key: string, id: string, body: unknown = {}) => api.call("POST", `${PATH}/${id}/rotate`, { key, body }),
  works: async (key: string): Promise<boolean> => (await api.call("GET", `${PATH}/self`, { key })).status === 200,
  /** The audit events of a target, oldest first, except its creation. */
  trail: (id: string) => api.database.db.client`
    select action, actor_id, actor_key_id, changed_fields, environment, request_id from audit_events
    where target_id = ${id} and action <> 'api_key.created' order by id`,
  expire: (id: string) =>
    api.database.db.client`update api_keys set expires_at = date_trunc('milliseconds', now()) where id = ${id}`,
});
