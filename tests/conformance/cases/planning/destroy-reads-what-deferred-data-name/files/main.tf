resource "lab_thing" "a" {
  name = "a"
}
resource "lab_thing" "b" {
  name = "b"
}
data "lab_thing" "a" {
  name = lab_thing.a.name
}
data "lab_echo" "e" {
  value = data.lab_thing.a.name
}
output "e" {
  value = data.lab_echo.e.result
}
output "n" {
  value = data.lab_thing.a.name
}
output "r" {
  value = lab_thing.a.name
}
output "u" {
  value = lab_thing.a.zone
}
