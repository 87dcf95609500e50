
data "lab_echo" "e" { value = lab_thing.a.name }
output "e" { value = data.lab_echo.e.result }
output "a" { value = lab_thing.a.name }
