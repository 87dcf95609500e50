variable "v" {
  type    = map(list(any))
  default = { a = [{ x = 1 }], b = [{ y = "z" }] }
}
variable "w" {
  type    = list(object({ e = optional(any) }))
  default = [{ e = 1 }, {}]
}
variable "x" {
  type    = set(any)
  default = [[1], ["x"]]
}
variable "y" {
  type    = list(tuple([any]))
  default = [[1], ["x"]]
}
output "all" { value = [var.v, var.w, var.x, var.y] }
