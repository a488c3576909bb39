import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TasmotaConfig, TasmotaDeviceMetadata } from './tasmota.manifest.ts';
import { parseReport, readHttpAnswer, topicsOf } from './tasmota.wire.ts';

const texts = { on: 'ON', off: 'OFF' };
const powers = (name: string, payload: string) => [...parseReport(name, payload, texts).powers];

describe('topics', () => {
  it('follow the default FullTopic', () => {
    const topics = topicsOf('gate', '%prefix%/%topic%/');
    expect(topics.command('POWER1')).toBe('cmnd/gate/POWER1');
    expect(topics).toMatchObject({
      allCommands: 'cmnd/gate/#',
      answers: 'stat/gate/+',
      presence: 'tele/gate/LWT',
      telemetry: 'tele/gate/STATE',
    });
    expect(topics.answerName('stat/gate/RESULT')).toBe('RESULT');
    expect(topics.answerName('stat/gate2/RESULT')).toBeNull();
  });

  it('follow one in another order, with or without its last slash', () => {
    for (const template of ['tasmota/%topic%/%prefix%/', 'tasmota/%topic%/%prefix%'])
      expect(topicsOf('gate', template).command('POWER2')).toBe('tasmota/gate/cmnd/POWER2');
  });
});

describe('reports', () => {
  it.each([
    ['RESULT', '{"POWER1":"ON"}', [[1, 'open']]],
    ['RESULT', '{"POWER":"OFF"}', [[1, 'closed']]],
    ['POWER1', 'ON', [[1, 'open']]],
    ['POWER', 'OFF', [[1, 'closed']]],
    ['POWER2', '{"POWER2":"ON"}', [[2, 'open']]],
    ['RESULT', '{"POWER3":"HALF"}', [[3, 'unknown']]],
    ['RESULT', '{"Time":"x","Uptime":"y","POWER1":"OFF","Wifi":{}}', [[1, 'closed']]],
    ['STATUS11', '{"StatusSTS":{"POWER1":"OFF"}}', []],
    ['RESULT', 'not json', []],
    ['RESULT', '{"PulseTime1":{"Set":15,"Remaining":0}}', []],
  ])('%s %s', (name, payload, expected) => {
    expect(powers(name, payload)).toEqual(expected);
  });

  it('tell a status from the answer to a command, and an unknown command', () => {
    expect(parseReport('RESULT', '{"Uptime":"y","POWER1":"OFF"}', texts).isStatus).toBe(true);
    expect(parseReport('RESULT', '{"Command":"Unknown"}', texts).unknownCommand).toBe(true);
    expect(parseReport('RESULT', '{"POWER1":"OFF"}', texts)).toMatchObject({
      isStatus: false,
      unknownCommand: false,
    });
  });

  it('use the words of StateText', () => {
    const german = { on: 'AN', off: 'AUS' };
    expect([...parseReport('RESULT', '{"POWER":"AUS"}', german).powers]).toEqual([[1, 'closed']]);
  });

  it('never throw, whatever arrives', () => {
    fc.assert(
      fc.property(fc.string(), fc.oneof(fc.string(), fc.json()), (name, payload) => {
        const report = parseReport(name, payload, texts);
        return [...report.powers.keys()].every(Number.isInteger);
      }),
    );
  });
});

describe('HTTP answers', () => {
  const kind = (status: number, body: string) => readHttpAnswer(status, body, texts).kind;

  it.each([
    [200, '{"POWER1":"ON"}', 'report'],
    [200, '{"Other":1,"POWER1":"ON","WARNING":"x"}', 'report'],
    [401, '{"WARNING":"Need user=<username>&password=<password>"}', 'refused'],
    [200, '{"WARNING":"Need user=<username>&password=<password>"}', 'refused'],
    [200, '{"WARNING":"Enter command cmnd="}', 'refused'],
    [200, '{"Command":"Unknown"}', 'refused'],
    [200, '<!DOCTYPE html><html>', 'refused'],
    [404, '', 'refused'],
    [200, '{}', 'unclear'],
    [200, '{"POWER', 'unclear'],
    [500, '{"POWER1":"ON"}', 'unclear'],
    [302, '', 'unclear'],
  ])('%i %s is %s', (status, body, expected) => {
    expect(kind(status, body)).toBe(expected);
  });
});

describe('settings', () => {
  const ajv = new Ajv2020();
  const config = ajv.compile(TasmotaConfig);
  const device = ajv.compile(TasmotaDeviceMetadata);

  it.each([
    [{ broker_host: 'broker' }, true],
    [{ transport: 'mqtt', broker_host: 'broker' }, true],
    [{ transport: 'http', base_url: 'http://192.0.2.1' }, true],
    [{}, false],
    [{ transport: 'http', broker_host: 'broker' }, false],
    [{ base_url: 'http://192.0.2.1' }, false],
    [{ transport: 'http', base_url: 'http://admin:pw@192.0.2.1' }, false],
    [{ transport: 'http', base_url: 'file:///etc/passwd' }, false],
    [{ broker_host: 'broker', extra: 1 }, false],
  ])('%j: %s', (value, valid) => {
    expect(config(value)).toBe(valid);
  });

  it.each([
    ['%prefix%/%topic%/', true],
    ['tasmota/%topic%/%prefix%/', true],
    ['%prefix%/gate/', false],
    ['%prefix%/%topic%/#', false],
    ['%hostname%/%prefix%/%topic%/', false],
  ])('full topic %s: %s', (full_topic, valid) => {
    expect(device({ topic: 'gate', full_topic })).toBe(valid);
  });
});
