// Shapes of the answers of out-of-band management: results of commands, plans, and operations.
#include "serve/api/answer_shapes.h"

namespace weft::serve {
namespace {

Value typed(Value type, std::string_view about) {
  return Value::map().set("type", std::move(type)).set("description", about);
}
Value text(std::string_view about) { return typed("string", about); }
Value text_or_null(std::string_view about) { return typed(Value::list({"string", "null"}), about); }
Value integer(std::string_view about) { return typed("integer", about); }
Value boolean(std::string_view about) { return typed("boolean", about); }
Value texts(std::string_view about) { return typed("array", about).set("items", Value::map().set("type", "string")); }
// The JSON that the command of the command line prints.
Value anything(std::string_view about) { return Value::map().set("description", about); }

Value object(Value properties, Value required) {
  return Value::map()
      .set("type", "object")
      .set("properties", std::move(properties))
      .set("required", std::move(required));
}

Value devices_schema(std::string_view about) {
  return object(Value::map().set("devices", integer("number of devices")).set("hosts", text("their names, folded")),
                Value::list({"devices", "hosts"}))
      .set("description", about);
}

Value radius_schema() {
  Value schema = devices_schema("what the operation affects");
  schema["properties"]
      .set("racks", integer("number of racks"))
      .set("interrupts", boolean("whether jobs there are interrupted"))
      .set("dependents", devices_schema("devices that lose power or links, too"))
      .set("servers_behind", devices_schema("servers behind the switches"))
      .set("running", anything("jobs there"));
  return schema;
}

Value result_schema() {
  return object(Value::map()
                    .set("result", text("ok, findings, partial, refused or unavailable"))
                    .set("data", anything("what the command prints as JSON; a text is in the member `text`"))
                    .set("notes", texts("what the command says beside it")),
                Value::list({"result", "notes"}));
}

Value operation_properties() {
  return Value::map()
      .set("operation", text("identifier"))
      .set("verb", text("operation, such as oob.power"))
      .set("hosts", text("devices"))
      .set("state", text("queued, running, done, failed or interrupted"))
      .set("who", text("who asked for it"))
      .set("reason", text("why"))
      .set("request_id", text("value of the header X-Request-Id"))
      .set("since", text_or_null("when it was asked"))
      .set("began", text_or_null("when it began"))
      .set("ended", text_or_null("when it ended"))
      .set("exit_code", typed(Value::list({"integer", "null"}), "exit code of the command"))
      .set("result", text("ok, findings, partial, refused or unavailable; empty: not known yet"))
      .set("detail", text("what happened, in one sentence"));
}
Value operation_required() { return Value::list({"operation", "verb", "hosts", "state", "who", "reason"}); }

Value operation_example() {
  return Value::map()
      .set("operation", "4f1c2a9d0b7e6835")
      .set("verb", "oob.power")
      .set("hosts", "train[001-004]")
      .set("state", "running")
      .set("who", "ada")
      .set("reason", "PFC storm");
}

Value change_schema() {
  Value plan = object(Value::map()
                          .set("plan", typed("boolean", "true: nothing was changed").set("const", true))
                          .set("verb", text("operation"))
                          .set("allowed", boolean("whether it may be carried out"))
                          .set("refusal", text("why not"))
                          .set("result", text("result of the plan"))
                          .set("data", anything("the plan, as the command prints it"))
                          .set("notes", texts("what the command says beside it"))
                          .set("plan_id", text("to carry it out"))
                          .set("expires_in_s", integer("seconds for which it may be carried out"))
                          .set("blast_radius", radius_schema()),
                      Value::list({"plan", "verb", "allowed", "blast_radius"}));
  return Value::map().set("anyOf",
                          Value::list({std::move(plan), object(operation_properties(), operation_required())}));
}

AnswerShape shape(std::string_view name, std::string_view about, Value schema, Value example) {
  AnswerShape made;
  made.name = name;
  made.about = about;
  made.form = AnswerShape::Form::object;
  made.schema = std::move(schema);
  made.example = std::move(example);
  return made;
}

}  // namespace

std::vector<AnswerShape> oob_shapes() {
  std::vector<AnswerShape> shapes;
  shapes.push_back(
      shape("oob_result", "result of a command on devices", result_schema(),
            Value::map().set("result", "ok").set("data", Value(Value::Map())).set("notes", Value::list())));
  shapes.push_back(shape("oob_change", "the plan of a change, or the operation that carries it out", change_schema(),
                         operation_example()));
  shapes.push_back(shape(
      "oob_operations", "out-of-band operations of the last day, the newest first",
      object(Value::map().set("operations", typed("array", "one per operation")
                                                .set("items", object(operation_properties(), operation_required()))),
             Value::list({"operations"})),
      Value::map().set("operations", Value::list({operation_example()}))));
  Value properties = operation_properties();
  properties.set("progress", texts("the last lines that the command wrote"))
      .set("data", anything("result of the command; null: not known yet"))
      .set("journal", anything("of an interrupted operation: what the journal says of it"));
  Value example = operation_example();
  example.set("progress", Value::list({"train001: on"})).set("data", Value());
  shapes.push_back(shape("oob_operation", "one out-of-band operation",
                         object(std::move(properties), operation_required()), std::move(example)));
  return shapes;
}

}  // namespace weft::serve
