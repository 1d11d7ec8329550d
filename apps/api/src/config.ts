/** The API's configuration, read once, at the start. */
import { CreateAvatar } from "@realtime-avatar/domain/avatar";
import { isValid } from "@realtime-avatar/domain/schema";
import {
  type CommonConfig,
  readCommonConfig,
  readPort,
  readVariable,
  type Variables,
} from "@realtime-avatar/runtime/config";

export type ApiConfig = CommonConfig & { port: number; defaultAvatarModelId: string; trustedProxyHops: number };

/** Throws a `ConfigError` that names the first variable of the wrong form. */
export const readConfig = (variables: Variables): ApiConfig => ({
  ...readCommonConfig(variables),
  port: readPort(variables, "PORT", 3000),
  defaultAvatarModelId: readVariable(
    variables,
    "DEFAULT_AVATAR_MODEL_ID",
    "realtime-avatar-live-v1",
    "an avatar model id of 1 to 160 characters",
    (text) => (isValid(CreateAvatar.properties.modelId, text) ? text : undefined),
  ),
  trustedProxyHops: readVariable(variables, "TRUSTED_PROXY_HOPS", 0, "a number of proxies from 0 to 9", (text) =>
    /^\d$/.test(text) ? Number(text) : undefined,
  ),
});
