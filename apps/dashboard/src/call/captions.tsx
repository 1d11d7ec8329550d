/** The words of both sides of a call, and a field to write without a microphone. */
import { useEffect, useRef, useState } from "react";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import type { Caption } from "./conversation.ts";

export const Captions = ({ captions, name }: { captions: readonly Caption[]; name: string }) => {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (captions.length > 0) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [captions]);
  if (captions.length === 0) return null;
  return (
    <section
      ref={box}
      aria-label="What was said"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="mt-4 max-h-64 space-y-2 overflow-y-auto rounded-lg border border-line p-3"
    >
      {captions.map(({ id, isOwn, text }) => (
        <p key={id} className="break-words">
          <span className="text-muted">{isOwn ? "You" : name}: </span>
          {text}
        </p>
      ))}
    </section>
  );
};

/** The longest turn that the avatar accepts. */
const MAX_LENGTH = 4000;

export const WriteField = ({ name, send }: { name: string; send: (text: string) => Promise<void> }) => {
  const [text, setText] = useState("");
  const submit = (): void => {
    if (text.trim() === "") return;
    setText("");
    // A turn that is lost with the connection does not appear among the captions.
    void send(text).catch(() => {});
  };
  return (
    <form
      className="mt-4 flex items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="grow">
        <TextField
          label={`Write to ${name}`}
          value={text}
          maxLength={MAX_LENGTH}
          autoComplete="off"
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <Button type="submit" className="mb-4">
        Send
      </Button>
    </form>
  );
};
