/** A person in a call as a process of its own, which a test can kill or freeze: `person-process.ts <url> <token>`. */
import { joinAsPerson } from "./person.ts";

const [, , url = "", token = ""] = process.argv;
const person = await joinAsPerson(url, token);
await person.publishMicrophone();
person.speak(true);
process.stdout.write("joined\n");
// Every second, whether it has heard the echo of its voice.
setInterval(() => {
  const isHeard = person.heard.splice(0).some(({ level }) => level > 0.1);
  process.stdout.write(isHeard ? "hears\n" : "hears nothing\n");
}, 1000);
