variable "v" {
  deprecated = "no v"
}
output "core" {
 value = "one"
 deprecated = "old"
}
