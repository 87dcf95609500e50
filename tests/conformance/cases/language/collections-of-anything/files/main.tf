variable "on" {
  type    = object({ names = list(string) })
  default = { names = ["true"] }
}
variable "wrong" {
  default = false
}
locals {
  settled_by_variable = tomap({ b = ["one", "one"], d = toset(var.on.names) })
}
output "settled_by_variable" {
  value = local.settled_by_variable
}
output "set_of_anything" {
  value = tomap({ b = ["one", "one"], d = toset([]) })
}
output "null_set" {
  value = tomap({ a = null, b = toset(null), c = [1] })
}
output "in_objects" {
  value = tolist([{ a = toset([]) }, { a = ["b"] }])
}
output "in_tuples" {
  value = tolist([[toset([])], [["x", "y"]]])
}
output "of_tuples" {
  value = var.wrong ? tolist([toset([]), [[1]]]) : null
}
output "in_a_set" {
  value = var.wrong ? toset([toset([]), ["a"]]) : null
}
