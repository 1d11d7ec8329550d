/** The logo of the product: a person whose shoulders are the bars of a voice. */
import icon from "../icon.svg" with { type: "text" };

const SOURCE = `data:image/svg+xml,${encodeURIComponent(icon)}`;

/** Decoration only, because the name of the product is beside it. */
export const Sign = ({ className = "" }: { className?: string }) => (
  <img src={SOURCE} alt="" width={28} height={28} className={`shrink-0 ${className}`} />
);
