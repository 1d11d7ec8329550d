/** A text of the service. Names of fields and commands in it are in backticks. */
export const Prose = ({ text }: { text: string }) =>
  text.split("`").map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <code key={index} className="text-[0.9em]">
        {part}
      </code>
    ),
  );
