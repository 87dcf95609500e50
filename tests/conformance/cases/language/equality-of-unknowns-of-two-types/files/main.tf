terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "terraform_data" "x" {
  input = "q"
}
resource "lab_thing" "l" {
  name = "n"
}
output "compared" {
  value = [
    terraform_data.x.id == lab_thing.l.revision,
    lab_thing.l.revision != terraform_data.x.id,
    terraform_data.x.id == 1,
    lab_thing.l.revision == "x",
    [terraform_data.x.id] == [lab_thing.l.revision],
    { a = terraform_data.x.id } == { a = lab_thing.l.revision },
    [terraform_data.x.id] == ["a"],
    [terraform_data.x.id] == [1],
  ]
}
