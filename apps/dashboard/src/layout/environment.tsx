/** The environment of the pages. It is part of the address, so that a link opens the same environment. */
import { ENVIRONMENTS, type Environment } from "../api/client.ts";
import { type SearchChange, useNavigation } from "./navigation.tsx";

const LABELS: Record<Environment, string> = { live: "Live", test: "Test" };
const SELECTED: Record<Environment, string> = {
  live: "has-checked:bg-good has-checked:text-page",
  test: "has-checked:bg-warn has-checked:text-page",
};

/**
 * The change of the address that switches to the other environment. Closes open objects, because they belong to the
 * current one.
 */
export const environmentChange = (environment: Environment): SearchChange => ({
  environment: environment === "test" ? "test" : undefined,
  key: undefined,
  avatar: undefined,
  session: undefined,
  endpoint: undefined,
  delivery: undefined,
});

export const EnvironmentSwitch = ({ environment }: { environment: Environment }) => {
  const { change } = useNavigation();
  return (
    <fieldset className="flex rounded-lg border border-line bg-raised p-0.5">
      <legend className="sr-only">Environment</legend>
      {ENVIRONMENTS.map((value) => (
        <label
          key={value}
          className={`cursor-pointer rounded-md px-3 py-1 text-sm font-semibold has-focus-visible:outline-2 has-focus-visible:outline-accent ${SELECTED[value]}`}
        >
          <input
            type="radio"
            name="environment"
            className="sr-only"
            value={value}
            checked={value === environment}
            onChange={() => change(environmentChange(value))}
          />
          {LABELS[value]}
        </label>
      ))}
    </fieldset>
  );
};

const STRIPS: Record<Environment, { colours: string; text: string }> = {
  live: { colours: "border-good bg-good-soft text-good", text: "Live environment: calls spend live credits" },
  test: { colours: "border-warn bg-warn-soft text-warn", text: "Test environment: separate from live calls" },
};

/**
 * A strip above every page, in a different colour for each environment. It has one line in both, so that the switch
 * below it does not move.
 */
export const EnvironmentStrip = ({ environment }: { environment: Environment }) => (
  <p className={`truncate border-t-4 px-4 py-1 text-center text-sm font-medium ${STRIPS[environment].colours}`}>
    {STRIPS[environment].text}
  </p>
);
