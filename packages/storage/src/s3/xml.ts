/** The XML documents of S3 that this service reads. */
import { parseXml, XmlElement, XmlError } from "@rgrove/parse-xml";
import { isKey, StorageError, type StoredFile } from "../storage.ts";

/** The root element; null when the text is not XML, which a proxy in front of the store may send. */
const rootOf = (text: string): XmlElement | null => {
  try {
    return parseXml(text).root;
  } catch (error) {
    if (error instanceof XmlError) return null;
    throw error;
  }
};

const childrenOf = (element: XmlElement, name: string): XmlElement[] =>
  element.children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name);

const textOf = (element: XmlElement, name: string): string | null => childrenOf(element, name)[0]?.text ?? null;

/** The code of an error document, such as `NoSuchKey`; null when it has no code. */
export const parseErrorCode = (text: string): string | null => {
  const root = rootOf(text);
  const code = root?.name === "Error" ? textOf(root, "Code") : null;
  // A code is one word. Anything else could be text that an error must not contain.
  return code !== null && /^[A-Za-z0-9.]{1,64}$/.test(code) ? code : null;
};

/** Whether a copy succeeded. S3 may respond with 200 early, and then send an error document. */
export const isCopyResult = (text: string): boolean => rootOf(text)?.name === "CopyObjectResult";

/**
 * One page of ListObjectsV2 with `encoding-type=url`: the files with a key of this service, and the token of the next
 * page.
 */
export const parseListing = (text: string, prefix: string): { files: StoredFile[]; next: string | null } => {
  const root = rootOf(text);
  if (root?.name !== "ListBucketResult") throw new StorageError("unavailable", "The store's list is malformed.");
  const files = childrenOf(root, "Contents").flatMap((entry): StoredFile[] => {
    const name = decodeURIComponent((textOf(entry, "Key") ?? "").replaceAll("+", " "));
    const key = name.slice(prefix.length);
    if (!name.startsWith(prefix) || !isKey(key)) return [];
    const modifiedAt = new Date(textOf(entry, "LastModified") ?? "");
    return [{ key, sizeBytes: Number(textOf(entry, "Size")), modifiedAt }];
  });
  if (textOf(root, "IsTruncated") !== "true") return { files, next: null };
  const next = textOf(root, "NextContinuationToken");
  if (!next) throw new StorageError("unavailable", "The store's list has no token for its next page.");
  return { files, next };
};
