variable "name" {
  type     = string
  default  = "dflt"
  nullable = false
}
variable "conf" {
  type     = object({ a = optional(number, 1), b = optional(string) })
  default  = {}
  nullable = false
}
resource "terraform_data" "t" {
  input = "${var.name}-${var.conf.a}"
}
output "name" {
  value = terraform_data.t.output
}
output "conf" {
  value = var.conf
}
