/** The agent of a call in a room of the service (CALL_AGENT_NAME). */
import { newCallKey } from "@realtime-avatar/domain/calls/call-key";
import { agentMetadata } from "@realtime-avatar/domain/calls/start";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import type { AgentDispatch } from "@realtime-avatar/livekit/rooms";
import type { Dependencies } from "../../dependencies.ts";
import type { Realtime } from "../realtime.ts";

type AgentCall = { tenantId: TenantId } & Parameters<typeof agentMetadata>[0] & { sessionId: SessionId };

/** The dispatch into the room of a call; null when no agent is configured. */
export const agentDispatch = (
  { agents, callKey }: Realtime,
  { clock, publicUrl }: Pick<Dependencies, "clock" | "publicUrl">,
  call: AgentCall,
): AgentDispatch | null => {
  if (agents.name === null) return null;
  const access = { apiUrl: `${publicUrl()}/compat/bey`, apiKey: newCallKey(call, callKey, clock()) };
  return { agentName: agents.name, metadata: agentMetadata(call, access) };
};
