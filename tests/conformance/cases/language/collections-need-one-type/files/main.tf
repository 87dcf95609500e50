variable "v" {
  type    = map(list(any))
  default = { a = [{ x = 1 }], b = [] }
}
variable "w" {
  type    = list(object({ e = optional(any) }))
  default = [{ e = { a = 1 } }, {}]
}
variable "x" {
  type    = set(list(any))
  default = [[1], ["x"]]
}
variable "y" {
  type    = map(tuple([any]))
  default = { a = [1], b = ["x"] }
}
