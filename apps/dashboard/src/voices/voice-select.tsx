/** Chooses a voice, with a button that plays its sample. */
import { Button } from "../components/button.tsx";
import { InlineSelect, Options } from "../components/field.tsx";
import { Failure } from "../components/state.tsx";
import { useSample, type Voice, voiceName } from "./data.ts";

type Props = {
  label?: string;
  voices: readonly Voice[];
  /** The id of the voice; null: the default voice. The voice may be missing in the list. */
  value: string | null;
  /** null: the voice is only shown. */
  onChange: ((id: string | null) => void) | null;
  isBusy?: boolean;
};

const DEFAULT = "";

/** The options: the default voice, the others, and the avatar's voice if it is not available. */
const optionsOf = (voices: readonly Voice[], value: string | null): [id: string, text: string][] => {
  const common = voices.find(({ isDefault }) => isDefault);
  const isKnown = value === null || voices.some(({ id }) => id === value);
  return [
    [DEFAULT, common ? `Default: ${voiceName(common)}` : "Default"],
    ...voices.map((voice): [string, string] => [voice.id, voiceName(voice)]),
    ...(isKnown ? [] : [[value, `${value}, not available`] satisfies [string, string]]),
  ];
};

export const VoiceSelect = ({ label = "Voice", voices, value, onChange, isBusy = false }: Props) => {
  const sample = useSample();
  const options = optionsOf(voices, value);
  const heard = voices.find(({ id, isDefault }) => id === value || (value === null && isDefault));
  return (
    <>
      <span className="flex flex-wrap items-center gap-2">
        {onChange ? (
          <InlineSelect
            label={label}
            className="max-w-full"
            value={value ?? DEFAULT}
            disabled={isBusy}
            onChange={({ target }) => onChange(target.value === DEFAULT ? null : target.value)}
          >
            <Options of={options} />
          </InlineSelect>
        ) : (
          options.find(([id]) => id === (value ?? DEFAULT))?.[1]
        )}
        {heard && (
          <Button kind="quiet" isBusy={sample.isBusy} onClick={() => sample.run(heard.id)}>
            Hear it
          </Button>
        )}
      </span>
      {sample.error ? <Failure error={sample.error} /> : null}
    </>
  );
};
