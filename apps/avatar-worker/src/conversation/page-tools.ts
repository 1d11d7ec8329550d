/** The tools of a page, as in the published SDK: the page registers them, and runs them through LiveKit RPC. */
import { type Room, RpcError } from "@livekit/rtc-node";
import { PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import type { Tools } from "./ask-with-tools.ts";
import { MAX_ARGUMENTS_LENGTH, type Tool, type ToolCall, toolError } from "./providers/tool-calls.ts";

const REGISTER_METHOD = "rta.tools.register";
const INVOKE_METHOD = "rta.tool.invoke";

export const MAX_TOOLS = 32;
/** Bound of all tools together, as JSON, in UTF-16 units, as the SDK counts it. */
const MAX_MANIFEST_LENGTH = 12_000;
/** The longest description that OpenAI takes. */
const MAX_DESCRIPTION_LENGTH = 1024;
const MAX_DEPTH = 16;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** How long a page may take for a tool call. */
export const CALL_MS = 2500;
const MAX_RESULT_LENGTH = 8192;
const MAX_ERROR_LENGTH = 500;
/** More than the longest result: a result is JSON inside JSON, whose escapes make it longer. */
const MAX_RESPONSE_LENGTH = 64 * 1024;

export type Registration = { tools: Tool[]; rejected: { name: string; reason: string }[] };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isDeeper = (value: unknown, depth: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (depth === 0 || Object.values(value).some((each) => isDeeper(each, depth - 1)));

/** Reads a tool of a manifest. Returns a text with the reason when the tool is rejected. */
const readTool = (item: unknown, others: readonly Tool[]): Tool | string => {
  const { name, description, parameters = {} } = isObject(item) ? item : {};
  if (typeof name !== "string" || !NAME.test(name)) return "name must match [a-zA-Z0-9_-]{1,64}";
  if (others.some((other) => other.name === name)) return "another tool has this name";
  if (typeof description !== "string" || description.trim() === "") return "description is required";
  if (description.length > MAX_DESCRIPTION_LENGTH)
    return `description has more than ${MAX_DESCRIPTION_LENGTH} characters`;
  if (!isObject(parameters)) return "parameters must be a JSON Schema";
  if (isDeeper(parameters, MAX_DEPTH)) return `parameters are nested more than ${MAX_DEPTH} levels deep`;
  // Some servers refuse `$schema`, and others a schema without a type.
  const { $schema: _, type = "object", ...schema } = parameters;
  if (type !== "object") return "parameters must be the JSON Schema of an object";
  return { name, description: description.toWellFormed(), parameters: { type, properties: {}, ...schema } };
};

/**
 * The tools that a page registers, as `{"tools": [{name, description, parameters}]}`; null when the manifest is invalid
 * or too long.
 */
export const readManifest = (payload: string): Registration | null => {
  if (payload.length > MAX_MANIFEST_LENGTH) return null;
  const content = parse(payload);
  const items = isObject(content) ? content["tools"] : undefined;
  if (!Array.isArray(items) || items.length > MAX_TOOLS) return null;
  const registration: Registration = { tools: [], rejected: [] };
  for (const item of items) {
    const tool = readTool(item, registration.tools);
    if (typeof tool !== "string") registration.tools.push(tool);
    else {
      const name = isObject(item) && typeof item["name"] === "string" ? item["name"] : "";
      registration.rejected.push({ name: name.slice(0, 64).toWellFormed(), reason: tool });
    }
  }
  return registration;
};

/** The result in the page's response to the call `id`: text for the model. */
export const readResult = (payload: string, id: string): string => {
  const response = payload.length > MAX_RESPONSE_LENGTH ? undefined : parse(payload);
  const { ok, call_id, result, error } = isObject(response) ? response : {};
  if (call_id !== id) return toolError("The page has sent no valid result.");
  if (ok !== true)
    return toolError(typeof error === "string" ? error.slice(0, MAX_ERROR_LENGTH) : "The tool has failed.");
  if (typeof result !== "string") return toolError("The page has sent no valid result.");
  if (result.length > MAX_RESULT_LENGTH) return toolError(`The result has more than ${MAX_RESULT_LENGTH} characters.`);
  return result.toWellFormed();
};

/** Settles like `work`, or with `late` after `ms`. Rejects with the reason of `signal` when it is aborted. */
const inTime = <Result>(work: Promise<Result>, ms: number, late: Result, signal: AbortSignal): Promise<Result> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late), ms);
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    });
  });

/** No tools: the start of the call has not allowed any. */
export const NO_TOOLS: Tools = {
  list: () => [],
  call: async () => toolError("There is no tool with this name."),
  drop: () => {},
};

/** Takes the tools that the page of the person registers; the last registration counts. */
export const createPageTools = ({ localParticipant }: Room): Tools => {
  let tools: readonly Tool[] = [];
  localParticipant?.registerRpcMethod(REGISTER_METHOD, async ({ callerIdentity, payload }) => {
    // The SDK sends the registration to each participant in turn.
    if (callerIdentity !== PERSON_IDENTITY) throw RpcError.builtIn("UNSUPPORTED_METHOD");
    const registration = readManifest(payload);
    if (registration === null) {
      throw new RpcError(
        422,
        `The tools must be valid JSON, at most ${MAX_TOOLS}, in ${MAX_MANIFEST_LENGTH} characters.`,
      );
    }
    tools = registration.tools;
    return JSON.stringify({ accepted: tools.map(({ name }) => name), rejected: registration.rejected });
  });
  const invoke = async ({ id, name, args }: ToolCall): Promise<string> => {
    const payload = JSON.stringify({ name, args, call_id: id });
    // LiveKit's timeout is longer, so that the limit of a call always decides.
    const request = {
      destinationIdentity: PERSON_IDENTITY,
      method: INVOKE_METHOD,
      payload,
      responseTimeout: 2 * CALL_MS,
    };
    try {
      return readResult((await localParticipant?.performRpc(request)) ?? "", id);
    } catch {
      return toolError("The page of the person did not run the tool.");
    }
  };
  return {
    list: () => tools,
    call: async (call, signal) => {
      if (!tools.some(({ name }) => name === call.name)) return toolError("There is no tool with this name.");
      if (call.args === null) {
        return toolError(`The arguments must be a JSON object of at most ${MAX_ARGUMENTS_LENGTH} characters.`);
      }
      return inTime(invoke(call), CALL_MS, toolError("The tool took too long."), signal);
    },
    drop: () => {
      tools = [];
    },
  };
};
