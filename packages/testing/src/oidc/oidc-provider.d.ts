/** The used parts of `oidc-provider`, which has no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options: { mergeWithLastSubmission: boolean },
    ): Promise<void>;
  }

  type Prompts = { get(name: string): { checks: { remove(name: string): void } } };
  export const interactionPolicy: { base(): Prompts };

  export type Context = {
    oidc: {
      client: { clientId: string };
      session: { accountId: string };
      provider: { Grant: new (of: { clientId: string; accountId: string }) => Grant };
    };
  };
  type Grant = { addOIDCScope(scope: string): void; save(): Promise<string> };
}
