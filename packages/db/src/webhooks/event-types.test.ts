/** Every type of event: the change that sends it, and the endpoints that select it. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { AUDIT_ACTIONS, type AuditAction } from "@realtime-avatar/domain/audit";
import { SESSION_STATUSES, type SessionStatus } from "@realtime-avatar/domain/credits/status";
import { selectsEvent, WEBHOOK_EVENT_TYPES, type WebhookEventType } from "@realtime-avatar/domain/webhooks/events";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { deliveredTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { auditEvent } from "../audit/audit-events.ts";
import { functionFiles } from "../functions/files.ts";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";

const { db } = await serviceDatabase();
const { client } = db;

const functionTexts = async () => {
  const paths = await functionFiles();
  const SRC = join(import.meta.dir, "..");
  return Promise.all(
    paths.map(async (path) => ({ subject: path.split("/")[0] ?? "", text: await Bun.file(join(SRC, path)).text() })),
  );
};

const ALL = WEBHOOK_EVENT_TYPES as readonly string[];
/** The texts of the functions of each subject, and whether they write audit events that are also events. */
const FUNCTION_FILES_OF = Map.groupBy(await functionTexts(), ({ subject }) => subject);
const WRITES_AUDIT_EVENTS = /\bperform rta\.insert_audit_events\((?:[^;]*,)\s*(true|false)\s*\);/g;

describe("the list of events", () => {
  /** Whether an action of the audit trail is also an event. A new action does not compile without an entry here. */
  const DECISIONS: Record<AuditAction, boolean> = {
    "api_key.created": true,
    "api_key.updated": true,
    "api_key.rotated": true,
    "api_key.revoked": true,
    "api_key.reported_leaked": true,
    "avatar.created": true,
    "avatar.updated": true,
    "avatar.deleted": true,
    "avatar.prepared": true,
    "avatar.preparation_failed": true,
    "asset.created": true,
    "asset.uploaded": true,
    "asset.ready": true,
    "asset.failed": true,
    "asset.deleted": true,
    "credits.granted": true,
    "credits.voided": true,
    "credits.adjusted": true,
    "credits.limit_changed": true,
    // Not sent: personal data, and changes by people of their own sign-in.
    "user.created": false,
    "user.updated": false,
    "user.deleted": false,
    "user_session.created": false,
    "user_session.verified": false,
    "user_session.ended": false,
    "invitation.created": false,
    "invitation.deleted": false,
    "passkey.created": false,
    "passkey.updated": false,
    "passkey.deleted": false,
    "identity.created": false,
    "identity.deleted": false,
    // Changes of endpoints are not sent to endpoints. Only the sender writes `webhook_endpoint.disabled`.
    "webhook_endpoint.created": false,
    "webhook_endpoint.updated": false,
    "webhook_endpoint.deleted": false,
    "webhook_endpoint.secret_rotated": false,
    "webhook_endpoint.disabled": false,
    // By the operator. The end of the session itself sends the event of this name (TRANSITIONS).
    "usage_session.ended": false,
    // Decisions of the tenant about its own data.
    "settings.updated": false,
    "transcript.deleted": false,
    "recording.deleted": false,
  };
  /** The event of the transition to each status of a session. */
  const TRANSITIONS: Record<SessionStatus, WebhookEventType> = {
    reserved: "usage_session.opened",
    started: "usage_session.started",
    released: "usage_session.ended",
    failed: "usage_session.ended",
  };
  /** The events that are neither an action of the audit trail nor a transition of a session. */
  const OTHERS = [
    "api_key.spend_limit_reached",
    "api_key.expiring",
    "credits.low",
    "credits.exhausted",
    "video.ready",
    "video.failed",
    "recording.ready",
    "recording.failed",
    "webhook_endpoint.disabled",
    "webhook_endpoint.test",
  ];

  test("every event: an action of the audit trail, a transition of a session, or listed here", () => {
    const sent = AUDIT_ACTIONS.filter((action) => DECISIONS[action]);
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...SESSION_STATUSES].sort());
    expect([...new Set([...sent, ...Object.values(TRANSITIONS), ...OTHERS])].sort()).toEqual(ALL.toSorted());
  });

  /** The folder of the subject that writes the actions of an object. */
  const subjectOf = (action: AuditAction): string => {
    const [object = ""] = action.split(".");
    const OTHER: Record<string, string> = {
      api_key: "api-keys",
      avatar: "avatars",
      asset: "assets",
      settings: "tenants",
      transcript: "calls",
      recording: "recordings",
      usage_session: "calls",
      webhook_endpoint: "webhooks",
    };
    return OTHER[object] ?? (object === "credits" ? object : "people");
  };

  test.each(AUDIT_ACTIONS.map((action) => [action, DECISIONS[action]] as const))(
    "the action %s: sent as an event: %p",
    async (action, isSent) => {
      const tenantId = await seedTenant(db);
      await seedEndpoint(db, tenantId);
      const event = auditEvent(action, { tenantId, environment: "live", id: "key_x" }, operatorOrigin());
      const values = [tenantId, event.id, action, event.createdAt, isSent];
      await client.unsafe(
        `select ${FUNCTIONS_SCHEMA}.insert_audit_events(
          array[row($1, $2, 'live', null, null, $3, 'key_x', '{}', 'r', $4)::${FUNCTIONS_SCHEMA}.audit_event], null, $5
        )`,
        values as never[],
      );
      expect(await deliveredTypes(db, tenantId, "key_x")).toEqual(isSent ? [action] : []);
      // The functions of the subject declare whether it is sent.
      const files = FUNCTION_FILES_OF.get(subjectOf(action)) ?? [];
      const said = files.flatMap(({ text }) => [...text.matchAll(WRITES_AUDIT_EVENTS)].map(([, value]) => value));
      expect(new Set(said)).toEqual(new Set([`${isSent}`]));
    },
  );

  test("the selection of an endpoint in the database: equals that of the domain", async () => {
    const choices = [null, ["avatar.*"], ["avatar.created", "credits.*"], ["usage_session.ended"]] as const;
    for (const events of choices) {
      for (const type of WEBHOOK_EVENT_TYPES) {
        const [row] = await client.unsafe(`select ${FUNCTIONS_SCHEMA}.selects($1::text[], $2) as yes`, [
          events,
          type,
        ] as never[]);
        expect([type, row?.["yes"]]).toEqual([type, selectsEvent(events, type)]);
      }
    }
  });
});
