/**
 * The tables of people: users, their passkeys, identities and sessions, and invitations. A person belongs to one
 * tenant. Ended sessions and invitations are deleted; the audit trail records them.
 */
import { NONCE_BYTES } from "@realtime-avatar/domain/people/challenge";
import { ROLES } from "@realtime-avatar/domain/people/roles";
import {
  MAX_CREDENTIAL_ID_BYTES,
  MAX_PUBLIC_KEY_BYTES,
  Passkey,
  User,
  UserSession,
} from "@realtime-avatar/domain/people/schemas";
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { bytes, bytewise, inList, isId, length, time, whenCompared } from "./columns.ts";
import { tenants } from "./tenants.ts";

const tenantId = () =>
  bytewise("tenant_id")
    .notNull()
    .references(() => tenants.tenantId);

export const users = pgTable(
  "users",
  {
    tenantId: tenantId(),
    id: bytewise("id").notNull(),
    /** In its normal form. */
    email: bytewise("email").notNull(),
    name: text("name").notNull(),
    role: text("role").notNull(),
    /** Raised by each change. A person whose role has changed since the look-up writes nothing. */
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    uniqueIndex("users_address_index").on(table.tenantId, table.email).where(whenCompared(table.email)),
    // The owners, which are locked together.
    index("users_owners_index").on(table.tenantId, table.id).where(sql`${table.role} = 'owner'`),
    check("users_id_check", isId(table.id, "usr")),
    check("users_email_check", length(table.email, User.properties.email)),
    check("users_name_check", length(table.name, User.properties.name)),
    check("users_role_check", inList(table.role, ROLES)),
    check("users_version_check", sql`${table.version} >= 1`),
  ],
);

export const passkeys = pgTable(
  "passkeys",
  {
    tenantId: bytewise("tenant_id").notNull(),
    id: bytewise("id").notNull(),
    userId: bytewise("user_id").notNull(),
    credentialId: bytes("credential_id").notNull(),
    /** A COSE key. */
    publicKey: bytes("public_key").notNull(),
    /** The last signature counter of the authenticator. */
    counter: bigint("counter", { mode: "number" }).notNull(),
    transports: text("transports").array().notNull(),
    isBackedUp: boolean("is_backed_up").notNull(),
    name: text("name").notNull(),
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
    lastUsedAt: time("last_used_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    foreignKey({ columns: [table.tenantId, table.userId], foreignColumns: [users.tenantId, users.id] }),
    // A sign-in finds the passkey by its credential id.
    uniqueIndex("passkeys_credential_index")
      .on(table.tenantId, table.credentialId)
      .where(whenCompared(table.credentialId)),
    index("passkeys_user_index").on(table.userId, table.tenantId, table.id),
    check("passkeys_id_check", isId(table.id, "psk")),
    check(
      "passkeys_credential_id_check",
      sql`octet_length(${table.credentialId}) between 1 and ${sql.raw(`${MAX_CREDENTIAL_ID_BYTES}`)}`,
    ),
    check("passkeys_public_key_check", sql`octet_length(${table.publicKey}) <= ${sql.raw(`${MAX_PUBLIC_KEY_BYTES}`)}`),
    check("passkeys_counter_check", sql`${table.counter} >= 0`),
    check("passkeys_name_check", length(table.name, Passkey.properties.name)),
  ],
);

/**
 * The maximum length of an issuer and a subject, in characters. OpenID Connect Core allows 255 ASCII characters for a
 * subject.
 */
const MAX_ISSUER_LENGTH = 512;
const MAX_SUBJECT_LENGTH = 255;

/** Accounts at a provider of OpenID Connect with which users sign in. */
export const userIdentities = pgTable(
  "user_identities",
  {
    tenantId: bytewise("tenant_id").notNull(),
    id: bytewise("id").notNull(),
    userId: bytewise("user_id").notNull(),
    issuer: bytewise("issuer").notNull(),
    /** The provider's id of the account. It is unique within the issuer and never reassigned. */
    subject: bytewise("subject").notNull(),
    createdAt: time("created_at").notNull(),
    lastUsedAt: time("last_used_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The version before this table also removes users, but does not know identities.
    foreignKey({ columns: [table.tenantId, table.userId], foreignColumns: [users.tenantId, users.id] }).onDelete(
      "cascade",
    ),
    // A sign-in finds the identity by its issuer and subject.
    uniqueIndex("user_identities_account_index")
      .on(table.tenantId, table.issuer, table.subject)
      .where(whenCompared(table.subject)),
    index("user_identities_user_index").on(table.userId, table.tenantId, table.id),
    check("user_identities_id_check", isId(table.id, "idn")),
    check(
      "user_identities_issuer_check",
      sql`octet_length(${table.issuer}) between 1 and ${sql.raw(`${MAX_ISSUER_LENGTH}`)}`,
    ),
    check(
      "user_identities_subject_check",
      sql`octet_length(${table.subject}) between 1 and ${sql.raw(`${MAX_SUBJECT_LENGTH}`)}`,
    ),
  ],
);

export const userSessions = pgTable(
  "user_sessions",
  {
    tenantId: bytewise("tenant_id").notNull(),
    id: bytewise("id").notNull(),
    userId: bytewise("user_id").notNull(),
    /** The passkey of the sign-in; null for an identity. */
    passkeyId: bytewise("passkey_id"),
    /** The identity of the sign-in; null for a passkey. */
    identityId: bytewise("identity_id"),
    /** SHA-256 of the cookie. */
    digest: bytes("digest").notNull(),
    userAgent: text("user_agent"),
    version: integer("version").notNull(),
    /** Until when operations that require a recent use of the passkey are allowed. */
    verifiedUntil: time("verified_until").notNull(),
    createdAt: time("created_at").notNull(),
    expiresAt: time("expires_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    foreignKey({ columns: [table.tenantId, table.userId], foreignColumns: [users.tenantId, users.id] }),
    index("user_sessions_user_index").on(table.userId, table.tenantId, table.id),
    // The sweep.
    index("user_sessions_expires_at_index").on(table.expiresAt),
    check("user_sessions_id_check", isId(table.id, "uss")),
    check("user_sessions_opened_by_check", sql`num_nonnulls(${table.passkeyId}, ${table.identityId}) = 1`),
    check("user_sessions_digest_check", sql`octet_length(${table.digest}) = 32`),
    check("user_sessions_user_agent_check", length(table.userAgent, UserSession.properties.userAgent.anyOf[0])),
  ],
);

/** When users and sessions were last seen. A separate table, because every write of the person locks their rows. */
export const peopleSeen = pgTable(
  "people_seen",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** The id of a user or of a session. */
    id: bytewise("id").notNull(),
    /** To the minute. */
    lastSeenAt: time("last_seen_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index("people_seen_last_seen_at_index").on(table.lastSeenAt),
  ],
);

/** Links that register a passkey of a new or an existing user. */
export const invitations = pgTable(
  "invitations",
  {
    tenantId: tenantId(),
    id: bytewise("id").notNull(),
    /** SHA-256 of the token of the link. */
    digest: bytes("digest").notNull(),
    /** In its normal form. */
    email: bytewise("email").notNull(),
    role: text("role").notNull(),
    /** The user who registers a further passkey with the invitation; null when it creates a user. */
    userId: bytewise("user_id"),
    /** The user who created it; null: the operator. */
    createdBy: bytewise("created_by"),
    createdAt: time("created_at").notNull(),
    expiresAt: time("expires_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // Another link for the same address or user replaces the earlier one. One is valid, even if two are created at the
    // same time.
    uniqueIndex("invitations_address_index").on(table.tenantId, table.email),
    index("invitations_expires_at_index").on(table.expiresAt),
    // The invitations that are deleted with a user.
    index("invitations_user_index").on(table.userId, table.tenantId, table.id).where(whenCompared(table.userId)),
    index("invitations_creator_index")
      .on(table.createdBy, table.tenantId, table.id)
      .where(whenCompared(table.createdBy)),
    check("invitations_id_check", isId(table.id, "inv")),
    check("invitations_digest_check", sql`octet_length(${table.digest}) = 32`),
    check("invitations_email_check", length(table.email, User.properties.email)),
    check("invitations_role_check", inList(table.role, ROLES)),
  ],
);

/** Challenges that a passkey has signed, and attempts to sign in by OIDC. Each can be used once in a tenant. */
export const spentChallenges = pgTable(
  "spent_challenges",
  {
    tenantId: tenantId(),
    nonce: bytes("nonce").notNull(),
    /** After this time the challenge is refused anyway. */
    expiresAt: time("expires_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.nonce] }),
    index("spent_challenges_expires_at_index").on(table.expiresAt),
    check("spent_challenges_nonce_check", sql`octet_length(${table.nonce}) = ${sql.raw(`${NONCE_BYTES}`)}`),
  ],
);
