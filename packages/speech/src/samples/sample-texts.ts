/** The texts of voice samples, by language. */

const ENGLISH = "Hello. This is how I sound.";
const TEXTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    de: "Hallo. So klingt meine Stimme.",
    es: "Hola. Así suena mi voz.",
    fr: "Bonjour. Voici ma voix.",
    hi: "नमस्ते। मेरी आवाज़ ऐसी है।",
    it: "Ciao. Questa è la mia voce.",
    ja: "こんにちは。これが私の声です。",
    nl: "Hallo. Zo klinkt mijn stem.",
    pl: "Cześć. Tak brzmi mój głos.",
    pt: "Olá. Esta é a minha voz.",
    zh: "你好。这是我的声音。",
  }),
);

/** The sample text in the language of the voice; in English for other languages. */
export const sampleText = (language: string | null): string => TEXTS.get(language?.split("-")[0] ?? "") ?? ENGLISH;
