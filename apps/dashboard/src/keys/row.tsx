import type { ApiKey } from "@realtime-avatar/client";
import { Badge, Meter, Time, type Tone } from "../components/text.tsx";
import { creditAmount, credits } from "../format.ts";
import { effectText } from "./changes.ts";

const TONES: Record<ApiKey["status"], Tone> = { active: "good", revoked: "bad", expired: "plain" };

export const KeyStatus = ({ apiKey }: { apiKey: ApiKey }) => <Badge tone={TONES[apiKey.status]}>{apiKey.status}</Badge>;

/** The spent part of the key's cap. */
export const Spent = ({ apiKey }: { apiKey: ApiKey }) => {
  const { spentCreditMicros: spent, reservedCreditMicros: held, spendLimitCreditMicros: cap } = apiKey;
  const text =
    cap === null ? `${creditAmount(spent)} spent, no cap` : `${credits(spent)} of ${creditAmount(cap)} spent`;
  const { cap: effect } = effectText(apiKey, {
    spendLimitCreditMicros: apiKey.effectiveSpendLimitCreditMicros,
    maxConcurrentSessions: null,
    expiresAt: null,
  });
  return (
    <>
      <p className="flex flex-wrap gap-x-2 text-sm">
        <span className="whitespace-nowrap">{text}</span>
        {held > 0 && <span className="whitespace-nowrap text-muted">{credits(held)} held</span>}
      </p>
      {cap !== null && <Meter label={`${text}, ${credits(held)} held`} used={spent} held={held} of={cap} />}
      {effect && <span className="block text-sm text-muted">{effect}</span>}
    </>
  );
};

/** The permissions of the key. */
export const Scopes = ({ scopes }: Pick<ApiKey, "scopes">) => (
  <span className="flex flex-wrap gap-1">
    {scopes.map((scope) => (
      <Badge key={scope}>{scope === "*" ? "* (everything except usage:write)" : scope}</Badge>
    ))}
  </span>
);

/** A key that expires within this time is marked. */
const SOON_MS = 14 * 86_400_000;

export const Expiry = ({ at }: { at: string }) => {
  const isSoon = new Date(at).getTime() - Date.now() < SOON_MS;
  return (
    <span className={isSoon ? "font-medium text-warn" : ""}>
      <Time at={at} />
    </span>
  );
};
