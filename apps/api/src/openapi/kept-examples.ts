/** The examples of kept transcripts and recordings, and of the settings of a tenant. */
import type { ConnectionObservation } from "@realtime-avatar/domain/calls/kept/connection-history";
import type { Transcript } from "@realtime-avatar/domain/calls/kept-transcript";
import type { TenantSettings } from "@realtime-avatar/domain/people/tenant-settings";
import type { Recording } from "@realtime-avatar/domain/recordings/schemas";

const suffix = "01h455vb4pex5vsknk084sn02q";
const time = "2026-11-20T12:00:00.000Z";

const settings: TenantSettings = {
  tenantId: `ten_${suffix}`,
  environment: "live",
  keepTranscripts: true,
  updatedAt: time,
};

const transcript: Transcript = {
  sessionId: `ses_${suffix}`,
  status: "final",
  truncated: false,
  deletesAt: "2026-12-20T12:00:00.000Z",
  segments: [
    {
      role: "user",
      text: "When do you open?",
      ts: 1_795_176_000_000,
      turn_id: "turn-1",
      input_provenance: { version: 1, observed_source: "server_stt", observed_by: "worker", ingress: "room_audio_stt" },
      input_source: "server_stt",
    },
    {
      role: "assistant",
      text: "At nine.",
      ts: 1_795_176_001_200,
      turn_id: "turn-1",
      timings: { end_of_speech: 40, end_of_turn: 352, text: 0, first_token: 210, first_sound: 130, heard: 240 },
    },
  ],
};

const recording: Recording = {
  sessionId: `ses_${suffix}`,
  recordingId: `rec_${suffix}`,
  mode: "audio_video",
  createdAt: time,
  retainedUntil: "2026-12-20T12:10:00.000Z",
  participant: { participantIdentity: "avatar", role: "avatar" },
  ...{ status: "ready", mediaType: "video/mp4", sizeBytes: 4_812_345, durationMs: 59_840 },
  mediaStartedAt: "2026-11-20T12:00:02.000Z",
  mediaEndedAt: "2026-11-20T12:01:01.840Z",
};

const observation: ConnectionObservation = {
  ...{ sequence: 1, elapsedMs: 812, clientObservedAt: time, connectionState: "connected" },
  ...{ localQuality: "good", audioQuality: "excellent", videoQuality: null },
};

const access = {
  recordingId: `rec_${suffix}`,
  url: `https://avatars.example.com/public/recordings/ten_${suffix}.live.rec_${suffix}.1795179600.vWq0Qm3bJ0c8l0s6mN1o7m4b9s2f6d3a1k5h8j0p2qA`,
  expiresAt: "2026-11-20T13:00:00.000Z",
};

export const KEPT_EXAMPLES = {
  TenantSettings: settings,
  UpdateTenantSettings: { keepTranscripts: true },
  Transcript: transcript,
  Recording: recording,
  RecordingPage: { data: [recording], nextCursor: null },
  ConnectionObservation: observation,
  ConnectionHistory: { sessionId: `ses_${suffix}`, observations: [observation] },
  ConnectionHistoryGrant: {
    endpoint: "https://avatars.example.com/public/connection-histories",
    token: `rth_ten_${suffix}_ses_${suffix}_1795176000000_vWq0Qm3bJ0c8l0s6mN1o7m4b9s2f6d3a1k5h8j0p2qA`,
    expiresAt: "2026-11-21T12:04:00.000Z",
  },
  RecordingAccess: access,
  DeletedRecording: { recordingId: `rec_${suffix}`, status: "deleted" as const },
};
