// What the memory of a cable says of itself, and what the module in the port measures.
import { cableCalls } from "./calls";
import { usePolled } from "./poll";

/** Time from one reading to the next, milliseconds: modules are measured rarely. */
const PACE = 10_000;

export function Cable({ guid, number }: { guid: bigint; number: number }) {
  const { answer, failed } = usePolled((options) => cableCalls.getCable({ port: { nodeGuid: guid, port: number } }, options), PACE, [guid, number]);
  if (answer === undefined) {
    return failed === "" ? null : <><h2>Cable</h2><p class="quiet">{failed}</p></>;
  }
  const { vendor, partNumber, serialNumber, module } = answer;
  const text = [vendor, partNumber, serialNumber && `serial number ${serialNumber}`].filter(Boolean).join(", ");
  const lanes = (name: string, values: number[], unit: string) => (values.length === 0 ? "" : `${name} ${values.map((value) => value.toFixed(2)).join(", ")} ${unit}`);
  const measured = module && [`${module.temperatureCelsius.toFixed(1)} °C`, `${module.volts.toFixed(2)} V`, lanes("receives", module.receiveMilliwatts, "mW"), lanes("sends", module.transmitMilliwatts, "mW"), lanes("bias", module.biasMilliamperes, "mA")];
  return (
    <>
      <h2>Cable</h2>
      <p>{text === "" ? "Its memory is not known." : <bdi>{text}</bdi>}</p>
      {measured !== undefined && <p class="quiet">The module: {measured.filter(Boolean).join("; ")}.</p>}
      {module?.faults.map((fault, key) => <p key={key} class="bad"><bdi>{fault}</bdi></p>)}
    </>
  );
}
