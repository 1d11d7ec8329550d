/** Keeps the log of LiveKit's library out of this process. */
import { FfiEvent, livekitInitialize } from "@livekit/rtc-ffi-bindings";
import { AudioResampler } from "@livekit/rtc-node";

/** The version that the library reports to servers. */
const LIBRARY_VERSION = "1.1.0";
const RATE = 48_000;

/** The native client of the library, one for the process. */
type Client = { emit(name: "ffi_event", event: FfiEvent): boolean };

/**
 * The library sends its log to this process, down to the lowest level: several lines for each message of a server. No
 * setting turns this off. The lines are processed before all other work, so one server that sends endlessly would stop
 * all calls of the worker and fill its memory. This function restarts the library without its log. The library still
 * writes failures to standard error, unless RUST_LOG was `off` when the process was started.
 */
export const dropLibraryLog = (): void => {
  // The first use of the library creates its client.
  new AudioResampler(RATE, RATE).close();
  const client = (globalThis as { _ffiClientInstance?: Client })._ffiClientInstance;
  if (!client) throw new Error("the library of LiveKit has no client");
  livekitInitialize((event) => client.emit("ffi_event", FfiEvent.fromBinary(event)), false, LIBRARY_VERSION);
};
