/** A person in a call as a process of its own, which a test can kill or freeze: `person-process.ts <url> <token>`. */
import { joinAsPerson } from "./person.ts";

const [, , url = "", token = ""] = process.argv;
const person = await joinAsPerson(url, token);
await person.publishMicrophone();
process.stdout.write("joined\n");
