import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The protocol of protocol.mjs, for the SDKs of Java. The arguments are the package of the SDK and
 * the name of its main class. Both SDKs have the same methods, so they are called by reflection.
 */
public class Sdk {
  static final Gson gson = new Gson();
  static String library;

  public static void main(String[] arguments) throws Exception {
    library = arguments[0];
    Map<String, Object> clients = new HashMap<>();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line; (line = lines.readLine()) != null; ) {
      Map<?, ?> command = gson.fromJson(line, Map.class);
      String client = (String) command.get("client");
      if (command.containsKey("open")) {
        clients.put(client, open(client, arguments[1], (Map<?, ?>) command.get("open")));
      } else {
        Object event = event((Map<String, Object>) command.get("call"));
        Class<?> type = Class.forName(library + ".messages.MessageBuilder");
        Object sdk = clients.get(client);
        sdk.getClass().getMethod("enqueue", type).invoke(sdk, event);
      }
    }
    System.exit(0);
  }

  static Object open(String client, String name, Map<?, ?> options) throws Exception {
    Class<?> callback = Class.forName(library + ".Callback");
    Object reporter =
        Proxy.newProxyInstance(
            Sdk.class.getClassLoader(),
            new Class<?>[] {callback},
            (proxy, method, values) -> {
              if (method.getName().equals("success")) report(client, "sent", true);
              else if (method.getName().equals("failure")) report(client, "failed", values[1].toString());
              else return method.getName().equals("hashCode") ? (Object) 0 : proxy == values[0];
              return null;
            });
    Object builder = invoke(Class.forName(library + "." + name), null, "builder", options.get("writeKey"));
    call(builder, "endpoint", options.get("address"));
    builder
        .getClass()
        .getMethod("flushInterval", long.class, TimeUnit.class)
        .invoke(builder, 1L, TimeUnit.SECONDS);
    builder.getClass().getMethod("callback", callback).invoke(builder, reporter);
    return call(builder, "build");
  }

  /** Returns the SDK's builder of an event. */
  static Object event(Map<String, Object> call) throws Exception {
    String type = (String) call.remove("type");
    Object first = call.remove(Map.of("track", "event", "group", "groupId", "alias", "previousId").getOrDefault(type, "name"));
    String name = library + ".messages." + type.substring(0, 1).toUpperCase() + type.substring(1) + "Message";
    Object[] values = first == null ? new Object[0] : new Object[] {first};
    Object builder = invoke(Class.forName(name), null, "builder", values);
    for (Map.Entry<String, Object> member : call.entrySet()) {
      if (!member.getKey().equals("integrations")) {
        call(builder, member.getKey(), member.getValue());
        continue;
      }
      for (Map.Entry<String, Boolean> one : ((Map<String, Boolean>) member.getValue()).entrySet()) {
        builder
            .getClass()
            .getMethod("enableIntegration", String.class, boolean.class)
            .invoke(builder, one.getKey(), one.getValue());
      }
    }
    return builder;
  }

  static Object call(Object target, String name, Object... values) throws Exception {
    return invoke(target.getClass(), target, name, values);
  }

  static Object invoke(Class<?> type, Object target, String name, Object... values) throws Exception {
    Class<?>[] types = new Class<?>[values.length];
    for (int i = 0; i < values.length; i++) types[i] = values[i] instanceof Map ? Map.class : String.class;
    return type.getMethod(name, types).invoke(target, values);
  }

  static synchronized void report(String client, String outcome, Object value) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("client", client);
    line.put(outcome, value);
    System.out.println(gson.toJson(line));
  }
}
