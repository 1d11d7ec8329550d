/** What is being done and how far it is: `share` from 0 to 1, null where it is unknown. */
export const Progress = ({ text, share }: { text: string; share: number | null }) => (
  <div>
    <p role="status" className="mb-1 text-sm">
      {text}
    </p>
    <progress
      aria-label={text}
      max={1}
      {...(share !== null && { value: share })}
      className="block h-2 w-full accent-fill"
    />
  </div>
);
