/** The tools of a page in the form that a language model gets, and the calls that it writes. */

/** `parameters`: a JSON Schema of an object. */
export type Tool = { name: string; description: string; parameters: object };

/**
 * `args`: a JSON object as text, at most `MAX_ARGUMENTS_LENGTH` UTF-16 units; null when the model wrote anything else.
 */
export type ToolCall = { id: string; name: string; args: string | null };

/** `onCalls`: called at the end of an answer that has tool calls. */
export type ToolOffer = { tools: readonly Tool[]; onCalls(calls: readonly ToolCall[]): void };

export const MAX_ARGUMENTS_LENGTH = 8192;
/** Further calls of one answer are ignored. */
export const MAX_CALLS = 8;
const MAX_ID_LENGTH = 128;
const MAX_NAME_LENGTH = 64;

/** The received parts of a call. `index`: null from a server that does not number its calls. */
type Written = { index: number | null; id: string; name: string; args: string };

/** The arguments as a JSON object; null when they are not an object. Some models omit empty arguments. */
const readArguments = (text: string): string | null => {
  if (text.trim() === "") return "{}";
  if (text.length > MAX_ARGUMENTS_LENGTH) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? text.toWellFormed() : null;
  } catch {
    return null;
  }
};

const randomId = (): string => crypto.randomUUID().replaceAll("-", "").slice(0, 9);

/** Makes a call that can be sent back: servers refuse names with other characters, and calls without an id. */
const readCall = ({ id, name, args }: Written): ToolCall => ({
  id: /^[\x21-\x7e]+$/.test(id) && id.length <= MAX_ID_LENGTH ? id : randomId(),
  name: name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, MAX_NAME_LENGTH) || "unknown",
  args: readArguments(args),
});

type Part = { index?: unknown; id?: unknown; function?: { name?: unknown; arguments?: unknown } | null };

const asText = (value: unknown): string => {
  if (typeof value === "string") return value;
  // Some servers send an object instead of its JSON text.
  return typeof value === "object" && value !== null ? JSON.stringify(value) : "";
};

export type ToolCalls = {
  /** Takes `tool_calls` of a `delta`. */
  push(parts: unknown): void;
  /** Returns all calls. Must be called after the last part. */
  read(): readonly ToolCall[];
};

/** Assembles calls from the parts of a stream, in which several calls can be interleaved. */
export const createToolCalls = (): ToolCalls => {
  const calls: Written[] = [];
  /**
   * The call that a part continues: the last one with its number. A part begins a new call if it has another id, or a
   * name and no id.
   */
  const findCall = (index: number | null, id: string, name: string): Written | undefined => {
    const call = index === null ? calls.at(-1) : calls.findLast((each) => each.index === index);
    return call !== undefined && (id === "" ? name === "" : id === call.id) ? call : undefined;
  };
  const pushPart = (part: Part | null): void => {
    const index = typeof part?.index === "number" ? part.index : null;
    const id = asText(part?.id).slice(0, MAX_ID_LENGTH + 1);
    const name = asText(part?.function?.name).slice(0, MAX_NAME_LENGTH + 1);
    let call = findCall(index, id, name);
    if (call === undefined) {
      call = { index, id, name: "", args: "" };
      // Calls above the limit are assembled too, so that their parts do not continue other calls.
      if (calls.length <= MAX_CALLS) calls.push(call);
      else calls[MAX_CALLS] = call;
    }
    call.name ||= name;
    if (call.args.length <= MAX_ARGUMENTS_LENGTH) call.args += asText(part?.function?.arguments);
  };
  return {
    push: (parts) => {
      if (Array.isArray(parts)) for (const part of parts) pushPart(part);
    },
    read: () => {
      const ids = new Set<string>();
      return calls.slice(0, MAX_CALLS).map((written) => {
        const call = readCall(ids.has(written.id) ? { ...written, id: "" } : written);
        ids.add(call.id);
        return call;
      });
    },
  };
};

/** An error as the result of a call, for the model. */
export const toolError = (text: string): string => JSON.stringify({ error: text.toWellFormed() });
