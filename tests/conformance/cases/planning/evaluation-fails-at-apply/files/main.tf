variable "v" {
  default = "3"
}
resource "terraform_data" "u" {
  input = var.v
}
resource "lab_thing" "num" {
  name = "n"
  size = tonumber(terraform_data.u.output)
}
resource "lab_thing" "ok" {
  name  = "ok"
  color = terraform_data.u.output
}
resource "lab_link" "after" {
  from   = "n"
  to     = "ok"
  weight = lab_thing.num.size
}
output "o" {
  value = lab_thing.ok.color
}
