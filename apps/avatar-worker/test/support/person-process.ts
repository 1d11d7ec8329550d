/** A person in a call as a separate process, which a test can kill or freeze: `person-process.ts <url> <token>`. */
import { joinAsPerson } from "./person.ts";

const [, , url = "", token = ""] = process.argv;
const person = await joinAsPerson(url, token);
await person.publishMicrophone();
person.speak(true);
process.stdout.write("joined\n");
// Prints every second whether the person has heard the echo.
setInterval(() => {
  const isHeard = person.heard.splice(0).some(({ level }) => level > 0.1);
  process.stdout.write(isHeard ? "hears\n" : "hears nothing\n");
}, 1000);
