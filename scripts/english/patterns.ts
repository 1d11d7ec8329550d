/** Patterns of a sentence that has to be read twice, and what to write instead. */
export type Pattern = { name: string; instead: string; matches: RegExp };

export const PATTERNS: readonly Pattern[] = [
  {
    name: "subject",
    instead: 'a subject that is a noun, not "who", "what" or "that"',
    matches:
      /^(?:who|what|whoever|whatever|whichever|that (?:an?|the|of|it|they|he|no|is|are|was|were|has|have|can|may|must|will|\w+s))\b(?!.*\?$)/i,
  },
  {
    name: "object",
    instead: 'a noun, not "of what …", "with whom …", "than who …"',
    matches: /\b(?:of|to|with|by|for|from|at|in|on|as|than|and|or|but|is|are) (?:who|what|whom|whoever|whatever)\b/i,
  },
  {
    name: "there is none",
    instead: '"no key exists"',
    matches: /\b(?:there (?:is|are|was|were) none|has none|is none)\b/i,
  },
  { name: "of its own", instead: '"its own room"', matches: /\bof (?:its|their|his|her|our|one's) own\b/i },
  { name: "so many", instead: "the number", matches: /\b(?:so many|so much|so few|as many of)\b/i },
  {
    name: "somebody",
    instead: "the person, program or process",
    matches: /\b(?:some|any|no|every)body\b|\b(?:some|any|every|no )one (?:else|can|may|has|is|who|waits|asks)\b/i,
  },
  {
    name: "double negation",
    instead: "the affirmation",
    matches:
      /\b(?:not|no|never|nothing|none|cannot)\b[^.;:,]{1,50}\b(?:not|never|nothing|none|without|unless|no)\b|\b(?:nothing|none) but\b/i,
  },
  {
    name: "two facts",
    instead: "two sentences",
    matches:
      /, and (?:it|they|he|she|this|each|one|the [\w-]+|an? [\w-]+|its [\w-]+|their [\w-]+) (?:is|are|was|were|has|have|can|cannot|may|must|will|does|do|then|[a-z]{3,}s)\b/i,
  },
  { name: "but for", instead: '"except"', matches: /\bbut for\b|\bas it came\b|\bas they came\b|\bsuch as it is\b/i },
  {
    name: "private word",
    instead: "validate, authenticate, batch, valid, response",
    matches: /\b(?:judge[sd]?|judging|right of way|gives? way|strangers?|gather(?:s|ed|ing)?|stands? for itself)\b/i,
  },
  { name: "long sentence", instead: "at most 40 words", matches: /^(?:\S+\s+){40,}\S+/ },
];

/** The sentences of a text. A colon ends one as well: what follows it has a subject. */
export const splitSentences = (text: string): string[] =>
  text
    .split(/(?<=[.?!:;])\s+|\n/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");

/** An exported function whose name ends in "Of", where a verb or a noun serves. */
export const SUFFIX = /^export (?:async )?(?:const|function) ([a-z]\w*Of)\b/gm;
