variable "flag" {
  type    = bool
  default = false
}
variable "num" {
  type    = number
  default = 0
}
variable "set" {
  type    = set(string)
  default = []
}
variable "tuple" {
  type    = tuple([string, string])
  default = ["", ""]
}
variable "obj" {
  type    = object({ a = string })
  default = null
}
variable "any" {
  type    = any
  default = null
}
output "all" {
  value = [var.flag, var.num, var.set, var.tuple, var.obj, var.any]
}
