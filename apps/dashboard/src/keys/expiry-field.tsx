import { Options, SelectField, TextField } from "../components/field.tsx";
import { dateTime } from "../format.ts";

const DAY_MS = 86_400_000;
export const CHOICES = {
  never: "Never",
  7: "In 7 days",
  30: "In 30 days",
  90: "In 90 days",
  365: "In a year",
  date: "At a time of your choice",
} as const;
type Choice = keyof typeof CHOICES | "present";

export type Expiry = {
  choice: Choice;
  /** When the choice was made. Days are counted from this time. */
  chosenAt: number;
  /** The local time for the choice `date`, in the format of its field. */
  date: string;
};

/**
 * The new expiry of a key whose current one is `presentExpiry`: RFC 3339 in UTC; null for never; undefined while no
 * time is entered.
 */
export const expiryAt = (
  { choice, chosenAt, date }: Expiry,
  presentExpiry: string | null,
): string | null | undefined => {
  if (choice === "present") return presentExpiry;
  if (choice === "never") return null;
  if (choice !== "date") return new Date(chosenAt + Number(choice) * DAY_MS).toISOString();
  const time = new Date(date);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
};

export const ExpiryField = ({
  value,
  onChange,
  presentExpiry,
  hint,
  error,
}: {
  value: Expiry;
  onChange: (expiry: Expiry) => void;
  /** The key's current expiry, which can be kept; undefined for a new key. */
  presentExpiry?: string | null;
  hint?: string | null;
  error?: string | undefined;
}) => (
  <div>
    <SelectField
      label="Expires"
      value={value.choice}
      onChange={({ target }) => onChange({ ...value, choice: target.value as Choice, chosenAt: Date.now() })}
      hint={hint}
      error={value.choice === "date" ? undefined : error}
    >
      {presentExpiry && <option value="present">{`On ${dateTime(presentExpiry)}, as now`}</option>}
      <Options of={Object.entries(CHOICES)} />
    </SelectField>
    {value.choice === "date" && (
      <TextField
        label="Time of the expiry"
        type="datetime-local"
        value={value.date}
        onChange={({ target }) => onChange({ ...value, date: target.value })}
        error={error}
        required
      />
    )}
  </div>
);
