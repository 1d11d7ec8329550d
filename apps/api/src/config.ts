/** The API's configuration, read once, at the start. */
import { CreateAvatar } from "@realtime-avatar/domain/avatar";
import { isValid } from "@realtime-avatar/domain/schema";
import { type CommonConfig, type Environment, read, readCommonConfig, readPort } from "@realtime-avatar/runtime/config";

export type ApiConfig = CommonConfig & { port: number; defaultAvatarModelId: string };

/** Throws a `ConfigError` that names the first variable of the wrong form. */
export const readConfig = (environment: Environment): ApiConfig => ({
  ...readCommonConfig(environment),
  port: readPort(environment, "PORT", 3000),
  defaultAvatarModelId: read(
    environment,
    "DEFAULT_AVATAR_MODEL_ID",
    "realtime-avatar-live-v1",
    "an avatar model id of 1 to 160 characters",
    (text) => (isValid(CreateAvatar.properties.modelId, text) ? text : undefined),
  ),
});
