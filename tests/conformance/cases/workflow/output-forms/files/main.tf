output "s" {
  value = "te\"xt\n"
}
output "n" {
  value = 12.50
}
output "b" {
  value = true
}
output "l" {
  value = ["a", 1]
}
output "m" {
  value = { k = "v", "a b" = [1] }
}
output "nul" {
  value = null
}
output "sec" {
  value     = "hush"
  sensitive = true
}
output "multi" {
  value = "one\ntwo\n"
}
output "empty" {
  value = {}
}
output "set" {
  value = toset(["z", "y"])
}
output "tnull" {
  value = tostring(null)
}
output "obj" {
  value = { a = null, b = { c = [] }, "d-e" = "" }
}
