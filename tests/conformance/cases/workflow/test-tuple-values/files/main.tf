variable "set" {
  type    = set(string)
  default = []
}
variable "map" {
  type    = map(number)
  default = {}
}
variable "tuple" {
  type    = tuple([string, bool])
  default = ["", false]
}
variable "any" { default = null }
variable "nested" {
  type    = list(object({ a = optional(string, "d"), b = optional(list(number), []) }))
  default = []
}
output "all" { value = jsonencode([var.set, var.map, var.tuple, var.any, var.nested]) }
