import type { ApiKeyWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { CopyText } from "../components/copy.tsx";
import { SecretDialog } from "../components/secret.tsx";
import { codeSnippets } from "./snippets.ts";

/** Shows the secret of a new or rotated key, and a first call with it. */
export const KeySecretDialog = ({ issued, onClose }: { issued: ApiKeyWithSecret; onClose: () => void }) => {
  const snippets = codeSnippets(location.origin, issued.apiKey);
  const [language, setLanguage] = useState<keyof typeof snippets>("curl");
  return (
    <SecretDialog title={`The secret of ${issued.name}`} onClose={onClose}>
      <CopyText label={`${issued.environment === "live" ? "Live" : "Test"} API key`} text={issued.apiKey} />
      <fieldset className="mb-2 flex flex-wrap gap-4 text-sm">
        <legend className="sr-only">Language of the first call</legend>
        {(Object.keys(snippets) as (typeof language)[]).map((each) => (
          <label key={each} className="flex cursor-pointer items-center gap-2">
            <input
              type="radio"
              name="language"
              className="size-4 accent-fill"
              checked={each === language}
              onChange={() => setLanguage(each)}
            />
            {each}
          </label>
        ))}
      </fieldset>
      <CopyText label="Try it" text={snippets[language]} />
      {language !== "curl" && (
        <p className="-mt-2 mb-4 text-sm text-muted">
          The program reads the secret from the variable <code>API_KEY</code>.
        </p>
      )}
    </SecretDialog>
  );
};
