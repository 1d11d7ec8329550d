import { Card } from "../components/text.tsx";
import { counted, dayName, duration } from "../format.ts";
import { useConversations } from "./data.ts";

const NUMBER = new Intl.NumberFormat("en");
const HEAD = ["Day", "Tokens read", "Tokens written", "Heard", "Characters spoken"];

/** The usage of conversations on each day. Not shown without conversations. */
export const Conversations = ({ days }: { days: number }) => {
  const { data = [] } = useConversations(days);
  if (data.length === 0) return null;
  const estimated = data.reduce((sum, { estimatedTokens }) => sum + estimatedTokens, 0);
  return (
    <Card title="Conversations by day">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which the keyboard must reach */}
      <section className="max-h-64 overflow-auto" tabIndex={0} aria-label="Conversations by day">
        <table className="w-full text-left text-sm tabular-nums">
          <thead>
            <tr>
              {HEAD.map((name) => (
                <th key={name} scope="col" className="py-1 pr-4 font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.map(({ day, inputTokens, outputTokens, heardSeconds, spokenCharacters }) => (
              <tr key={day} className="border-t border-line">
                <td className="py-1 pr-4">{dayName(day)}</td>
                <td className="py-1 pr-4">{NUMBER.format(inputTokens)}</td>
                <td className="py-1 pr-4">{NUMBER.format(outputTokens)}</td>
                <td className="py-1 pr-4">{duration(heardSeconds)}</td>
                <td className="py-1">{NUMBER.format(spokenCharacters)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {estimated > 0 && (
        <p className="mt-2 text-sm text-muted">{counted(estimated, "token")} of these days are estimated.</p>
      )}
    </Card>
  );
};
