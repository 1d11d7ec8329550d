/** Long lists: only the parts near the visible one are rendered. */
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";

/** Distance from the visible part within which an item is rendered. */
const MARGIN = "800px 0px";

type PartProps = { label: string; className: string; isFirst: boolean; children: () => ReactNode };

/** A part of a list. Out of sight, it is empty and keeps its height. A part with the focus stays rendered. */
const Part = ({ label, className, isFirst, children }: PartProps) => {
  const ref = useRef<HTMLDivElement>(null);
  const height = useRef(0);
  const [isNear, setNear] = useState(isFirst);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new IntersectionObserver(
      // The newest entry is the last one. The browser passes several if several changes came at once.
      (entries) => setNear(entries.at(-1)?.isIntersecting === true || element.contains(document.activeElement)),
      { rootMargin: MARGIN },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    if (isNear) height.current = element.offsetHeight;
    // Set through the object model, because the policy of the page refuses style attributes.
    element.style.minHeight = isNear ? "" : `${height.current || 400}px`;
  });
  return (
    <div ref={ref}>
      {isNear && (
        <ul aria-label={label} className={className}>
          {children()}
        </ul>
      )}
    </div>
  );
};

type Props<Item> = {
  items: readonly Item[];
  /** Number of items that are rendered or hidden together. */
  size: number;
  /** The name of the list. In a long list, each part is a list, named with its positions. */
  label: string;
  className: string;
  children: (item: Item) => ReactNode;
};

export function Windowed<Item>({ items, size, label, className, children }: Props<Item>) {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, part) => part * size);
  return starts.map((start) => {
    const part = items.slice(start, start + size);
    return (
      <Part
        key={start}
        label={items.length <= size ? label : `${label}, ${start + 1} to ${start + part.length}`}
        className={className}
        isFirst={start === 0}
      >
        {() => part.map(children)}
      </Part>
    );
  });
}
