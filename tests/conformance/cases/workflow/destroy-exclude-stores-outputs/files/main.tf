
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "b" { name = "b" }
data "lab_echo" "e" { value = lab_thing.a.name }
output "a" { value = lab_thing.a.name }
output "b" { value = lab_thing.b.name }
output "e" { value = data.lab_echo.e.result }
output "c" { value = "const" }
output "ab" { value = "${lab_thing.a.name}${lab_thing.b.name}" }
output "id" { value = lab_thing.a.id }
